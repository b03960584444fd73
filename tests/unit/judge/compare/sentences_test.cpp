#include "judge/compare/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

std::string time_of(std::optional<double> ratio, std::optional<Interval> ratio95 = std::nullopt,
                    Verdict verdict = Verdict::slower) {
  Summation all;
  all.ratio = ratio;
  all.ratio95 = ratio95;
  all.mean_verdict = verdict;
  return time_sentence(all, "host", "bwrap");
}

TEST(Sentences, NoCellsNoTime) {
  EXPECT_EQ(time_of(std::nullopt), "");
}

TEST(Sentences, AProvenDifferenceIsANumber) {
  EXPECT_EQ(time_of(1.018, Interval{1.012, 1.023}),
            "In the geometric mean over cells, bwrap takes 1.8% more time than host (95% interval "
            "1.2% to 2.3% more).");
  EXPECT_EQ(time_of(0.9, Interval{0.8, 0.95}),
            "In the geometric mean over cells, bwrap takes 10% less time than host (95% interval "
            "5% to 20% less).");
}

TEST(Sentences, ANumberThatIsNotProvenAmongManyCellsSaysSo) {
  EXPECT_EQ(time_of(1.018, Interval{1.012, 1.023}, Verdict::inconclusive),
            "In the geometric mean over cells, bwrap takes 1.8% more time than host (95% interval "
            "1.2% to 2.3% more), which is not yet proven.");
}

TEST(Sentences, FromFiveTimesOnTimesAreSaidAndNotPercent) {
  EXPECT_EQ(time_of(236.7, Interval{79.8, 702.04}),
            "In the geometric mean over cells, bwrap takes 237 times as long as host (95% interval "
            "80 to 702).");
  EXPECT_THAT(time_of(99.7, Interval{1.5, 6600}),
              testing::HasSubstr("takes 100 times as long as host (95% interval 1.5 to 6600)"));
  EXPECT_THAT(time_of(4.9, Interval{1.5, 16}), testing::HasSubstr("takes 390% more time"));
  EXPECT_THAT(time_of(0.01, Interval{0.005, 0.02}), testing::HasSubstr("takes 99% less time"));
}

TEST(Sentences, ANarrowIntervalHasDigitsThatDiffer) {
  EXPECT_EQ(time_of(1.2, Interval{1.1998, 1.2003}),
            "In the geometric mean over cells, bwrap takes 20% more time than host (95% interval "
            "19.98% to 20.03% more).");
}

TEST(Sentences, ANodeHasItsDistanceAndWhatWouldHaveGoneUnnoticed) {
  NodeCell cell{{"memory op=triad", "bandwidth"}, "bytes/s", 90.2e9, 93e9, 1.031, 1e-6, 1.012};
  EXPECT_EQ(
      node_sentence("node7", cell),
      "node7 takes 3.1% more time than the fleet's median in memory op=triad bandwidth (90.20 "
      "GB/s against 93.00 GB/s); a difference below 1.2% would have gone unnoticed there.");
  cell = {{"launch", "latency"}, "s", 1e-6, 2e-6, 0.5};
  EXPECT_EQ(
      node_sentence("node8", cell),
      "node8 takes 50.0% less time than the fleet's median in launch latency (1.000 us against "
      "2.000 us); any difference would have gone unnoticed there.");
  cell.detectable = 7.3;
  EXPECT_THAT(node_sentence("node8", cell),
              testing::HasSubstr("; up to 7.3 times as much time would have gone unnoticed"));
  cell.detectable = 4e6;
  EXPECT_THAT(node_sentence("node8", cell),
              testing::HasSubstr("; any difference would have gone unnoticed"));
}

TEST(Sentences, WhatIsNotProvenIsNotStated) {
  EXPECT_EQ(time_of(0.97, Interval{0.89, 1.06}),
            "No difference in time is proven over all cells: bwrap takes 11% less to 6% more than "
            "host (95% interval of the geometric mean).");
}

TEST(Sentences, WhatACellTakesAtMostIsTheBoundItself) {
  Comparison comparison;
  comparison.all.judgement.verdict = Verdict::inconclusive;
  const auto add = [&](double most) {
    CellComparison cell;
    cell.judgement.verdict = Verdict::inconclusive;
    cell.effect.pairs = 10;
    cell.effect.t95 = {-1, std::log1p(most)};
    cell.ratio95 = {0.5, 2};
    comparison.cells.push_back(cell);
  };
  add(0.2003);
  EXPECT_EQ(bound_sentence(comparison, "host", "bwrap"),
            "bwrap takes at most 20.1% longer than host, with 95% confidence.");
  add(0.199);
  EXPECT_EQ(bound_sentence(comparison, "host", "bwrap"),
            "bwrap takes at most 20.1% longer than host in each of 2 cells by itself, with 95% "
            "confidence.");
  for (const double most : {0.01, 0.03, 9.0}) add(most);
  EXPECT_EQ(bound_sentence(comparison, "host", "bwrap"),
            "bwrap takes at most 19.9% longer than host in 3 of 5 cells, and at most 10 times "
            "as long in all, each with 95% confidence.");
  comparison.cells.resize(4);
  EXPECT_EQ(bound_sentence(comparison, "host", "bwrap"),
            "bwrap takes at most 3.0% longer than host in 2 of 4 cells, and at most 20.1% longer "
            "in all, each with 95% confidence.");
  comparison.cells.resize(1);
  comparison.cells[0].effect.t95.high = std::log(703.2);
  EXPECT_EQ(bound_sentence(comparison, "host", "bwrap"),
            "bwrap takes at most 704 times as long as host, with 95% confidence.");
  for (CellComparison& cell : comparison.cells) cell.effect.pairs = 5;  // too few for an interval
  EXPECT_EQ(bound_sentence(comparison, "host", "bwrap"), "");
  EXPECT_EQ(bound_sentence({}, "host", "bwrap"), "");
}

TEST(Sentences, WithoutPairsThereIsNoInterval) {
  EXPECT_EQ(time_of(1.25),
            "In the geometric mean over cells, bwrap took 25% more time than host; an interval "
            "needs 6 pairs with a value in every cell, so no difference of this mean is proven.");
  EXPECT_THAT(time_of(5.83), testing::HasSubstr("bwrap took 5.8 times as long as host; an"));
}

}  // namespace
}  // namespace assay
