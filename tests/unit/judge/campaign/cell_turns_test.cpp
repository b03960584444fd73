// Which cells of a unit come last.
#include "judge/campaign/cell_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// What a unit of `budget` seconds measures in turn of cells that take so long each.
std::vector<CellTime> unit(const std::vector<double>& seconds, const std::vector<std::size_t>& last,
                           double budget, std::vector<int>& measured) {
  std::vector<std::size_t> order;
  for (std::size_t cell = 0; cell < seconds.size(); ++cell) {
    if (std::find(last.begin(), last.end(), cell) == last.end()) order.push_back(cell);
  }
  order.insert(order.end(), last.begin(), last.end());
  std::vector<CellTime> times;
  double spent = 0;
  for (const std::size_t cell : order) {
    const bool starved = spent >= budget;
    times.push_back({starved ? 0 : seconds[cell], starved});
    if (starved) continue;
    spent += seconds[cell];
    ++measured[cell];
  }
  return times;
}

/// In how many of twelve pairs each cell is measured.
std::vector<int> measured_in_twelve_pairs(const std::vector<double>& seconds, double budget) {
  CellTurns turns(budget);
  std::vector<int> measured(seconds.size());
  for (std::size_t pair = 0; pair < 12; ++pair) {
    turns.learn(pair, unit(seconds, turns.last_in(pair), budget, measured));
  }
  return measured;
}

TEST(CellTurns, WhereThereIsTimeForAllTheOrderStays) {
  CellTurns turns(10);
  EXPECT_THAT(turns.last_in(0), IsEmpty());
  turns.learn(0, {{3, false}, {1, false}, {5, false}});
  EXPECT_THAT(turns.last_in(1), IsEmpty());
}

TEST(CellTurns, WhatTakesMoreThanItsShareStarvesNoOther) {
  // The first cell alone takes more than the unit has; the others fit into it.
  EXPECT_THAT(measured_in_twelve_pairs({20, 1, 1, 1}, 10), ElementsAre(12, 11, 11, 11));
}

TEST(CellTurns, CostlyCellsTakeTurns) {
  const auto measured = measured_in_twelve_pairs({9, 9, 9, 1, 1}, 10);
  for (const int cheap : {3, 4}) EXPECT_GE(measured[static_cast<std::size_t>(cheap)], 10);
  for (const int costly : {0, 1, 2}) EXPECT_GE(measured[static_cast<std::size_t>(costly)], 3);
}

TEST(CellTurns, EqualCellsHaveEqualShares) {
  const auto measured = measured_in_twelve_pairs({4, 4, 4, 4, 4, 4}, 12);
  for (const int each : measured) EXPECT_NEAR(each, 6, 1);
}

TEST(CellTurns, AllUnitsOfAPairHaveOneOrder) {
  CellTurns turns(1);
  EXPECT_THAT(turns.last_in(4), IsEmpty());
  turns.learn(4, {{3, false}, {0, true}});
  EXPECT_THAT(turns.last_in(4), IsEmpty());
  EXPECT_THAT(turns.last_in(5), ElementsAre(0));
}

TEST(CellTurns, WithoutATimeOfAUnitNothingComesLast) {
  CellTurns turns(std::nullopt);
  turns.learn(0, {{3, false}, {0, true}});
  EXPECT_THAT(turns.last_in(1), IsEmpty());
}

}  // namespace
}  // namespace assay
