#include "cli/judge/compare_view.h"

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
  comparison.problems.push_back("box: records.jsonl:3: not JSON, ignored");
  comparison.problems.push_back("box: records.jsonl:4: not JSON, ignored");
  EXPECT_THAT(comparison_text(comparison, false, 0, Style(false)),
              testing::EndsWith("note: host: run 0: launch metric=submit: interrupted: the budget "
                                "was spent (and 29 more such results)\n"
                                "note: box: run 7: gemm: error: no memory\n"
                                "note: box: line 3: not JSON, ignored\n"
                                "note: box: records.jsonl:3: not JSON, ignored (and 1 more such "
                                "result)\n"));
}

TEST(CompareView, PairsThatAreMissingAreSaidOnce) {
  Comparison comparison;
  for (const std::size_t more : {104U, 15U, 2858U}) {
    CellComparison cell;
    cell.key.cell = "copy size=" + std::to_string(more);
    cell.judgement = {Verdict::inconclusive, "not_precise",
                      "about " + std::to_string(more) + " more are needed", more};
    comparison.cells.push_back(cell);
  }
  EXPECT_THAT(
      comparison_text(comparison, false, 0, Style(false)),
      testing::HasSubstr(
          "\nINCONCLUSIVE: about 15 more are needed (copy size=15; up to 2858 for all 3 cells)\n"));
  comparison.cells.resize(1);
  EXPECT_THAT(comparison_text(comparison, false, 0, Style(false)),
              testing::HasSubstr("\nINCONCLUSIVE: about 104 more are needed (copy size=104)\n"));
}

TEST(CompareView, CellsWithOutliersAreSaidOnceAndTheControlSaysWhatItCompared) {
  Comparison comparison;
  for (const std::size_t outliers : {2U, 7U}) {
    CellComparison cell;
    cell.key.cell = "copy size=" + std::to_string(outliers);
    cell.judgement = {Verdict::unstable, "outliers", "text of its own"};
    cell.effect.pairs = 17;
    cell.effect.outliers.resize(outliers);
    cell.control_state = Control::quiet;
    comparison.cells.push_back(cell);
  }
  const std::string text = comparison_text(comparison, false, 0, Style(false));
  EXPECT_THAT(text, testing::HasSubstr("\nUNSTABLE: 7 of 17 pairs are outliers: most pairs agree, "
                                       "some do not (copy size=7; 2 cells); "));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("text of its own")));
  EXPECT_THAT(text, testing::HasSubstr("A = A"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("quiet")));
}

}  // namespace
}  // namespace assay::cli
