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
  comparison.problems.push_back("box: records.jsonl:3: it is not JSON, ignored");
  comparison.problems.push_back("box: records.jsonl:4: it is not JSON, ignored");
  EXPECT_THAT(
      comparison_text(comparison, false, 0, Style(false)),
      testing::EndsWith("note: host: run 0: launch metric=submit: interrupted: the budget "
                        "was spent (and 29 more such results)\n"
                        "note: box: run 7: gemm: error: no memory\n"
                        "note: box: line 3: not JSON, ignored\n"
                        "note: box: records.jsonl:3: it is not JSON, ignored (and 1 more such "
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
          "\nINCONCLUSIVE: about 15 more are needed (size=15; up to 2858 for all 3 cells)\n"));
  comparison.cells.resize(1);
  EXPECT_THAT(comparison_text(comparison, false, 0, Style(false)),
              testing::HasSubstr("\nINCONCLUSIVE: about 104 more are needed (copy size=104)\n"));
}

TEST(CompareView, ReasonsNameCellsAsTheTableDoes) {
  Comparison comparison;
  for (const char* size : {"1MiB", "2MiB"}) {
    CellComparison cell;
    cell.key = {std::string("rdma op=write direction=one size=") + size, "bandwidth"};
    cell.unit = "bytes/s";
    cell.a = cell.b = {12.5e9};
    cell.median_a = cell.median_b = 12.5e9;
    cell.judgement = {Verdict::inconclusive, "not_precise", size, 0};
    comparison.cells.push_back(cell);
  }
  const std::string text = comparison_text(comparison, false, 0, Style(false));
  EXPECT_THAT(text, testing::HasSubstr("all cells: rdma op=write direction=one\n"));
  EXPECT_THAT(text, testing::HasSubstr("12.50 GB/s (100.0 Gb/s)  12.50 GB/s (100.0 Gb/s)"));
  EXPECT_THAT(text, testing::HasSubstr("INCONCLUSIVE: 2MiB (size=2MiB)\n"));
}

TEST(CompareView, MediansThatDifferFromTheChangeAreExplained) {
  Comparison comparison;
  CellComparison cell;
  cell.key = {"copy size=1MiB", "bandwidth"};
  cell.a = cell.b = {1};
  cell.effect.pairs = 6;
  cell.median_a = 14.35e9;
  cell.median_b = 14.49e9;
  cell.ratio = 1.071;
  comparison.paired = true;
  comparison.cells = {cell};
  const auto explained = testing::HasSubstr("mean change from A to B within pairs");
  EXPECT_THAT(comparison_text(comparison, false, 0, Style(false)), explained);
  comparison.cells[0].ratio = 1.012;
  EXPECT_THAT(comparison_text(comparison, false, 0, Style(false)), testing::Not(explained));
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
                                       "some do not (size=7; 2 cells); "));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("text of its own")));
  EXPECT_THAT(text, testing::HasSubstr("A = A"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("quiet")));
}

}  // namespace
}  // namespace assay::cli
