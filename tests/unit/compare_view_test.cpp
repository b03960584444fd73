#include "cli/compare_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(CompareView, WhatHappenedToManyResultsIsSaidOnce) {
  Comparison comparison;
  for (int i = 0; i < 30; ++i) {
    comparison.problems.push_back("host: run " + std::to_string(i) +
                                  ": launch metric=submit: interrupted: the budget was spent");
  }
  comparison.problems.push_back("box: run 7: gemm: error: no memory");
  comparison.problems.push_back("box: line 3: not JSON, ignored");
  EXPECT_THAT(comparison_text(comparison, false, 0, Style(false)),
              testing::EndsWith("note: host: run 0: launch metric=submit: interrupted: the budget "
                                "was spent (and 29 more such results)\n"
                                "note: box: run 7: gemm: error: no memory\n"
                                "note: box: line 3: not JSON, ignored\n"));
}

}  // namespace
}  // namespace assay::cli
