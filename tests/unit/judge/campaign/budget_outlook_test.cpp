// What a campaign's budget has time for.
#include "judge/campaign/budget_outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

/// Three arms that start in half a second and measure five cells for four seconds.
BudgetTerms terms(double budget_seconds) {
  return {.budget_seconds = budget_seconds,
          .unit_budget_seconds = 4,
          .cells = 5,
          .least_pairs = 10,
          .start_seconds = {0.5, 0.5, 0.5}};
}

TEST(BudgetOutlook, SaysNothingWhereThereIsTimeForAll) {
  EXPECT_EQ(*budget_outlook(terms(135)), "");
  BudgetTerms load = terms(20);
  load.unit_budget_seconds.reset();  // nobody knows how long it takes
  EXPECT_EQ(*budget_outlook(load), "");
}

TEST(BudgetOutlook, NamesThePairsThatDoNotFit) {
  EXPECT_EQ(
      *budget_outlook(terms(134)),
      "the budget of 2:14 has time for about 9 pairs; 10 pairs, the least for a result of all "
      "cells, may take 2:15\n");
  EXPECT_THAT(*budget_outlook(terms(13)),
              HasSubstr("the budget of 0:13 has time for no more than the first pair, and "
                        "maybe not for that; 10 pairs"));
}

TEST(BudgetOutlook, RefusesWhatStartingAloneTakes) {
  const auto refused = budget_outlook(terms(1.5));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_EQ(
      refused.error().message,
      "the budget of 1.500 s leaves no time to measure: starting the 3 units of the first pair "
      "takes 1.500 s; give more");
}

TEST(BudgetOutlook, NamesCellsThatHaveTooLittleEach) {
  BudgetTerms many = terms(1000);
  many.cells = 98;
  EXPECT_EQ(*budget_outlook(many),
            "98 cells share the 4.000 s of a unit, 40.82 ms each: what takes longer is measured "
            "only in some pairs, in turn; fewer cells or a longer unit budget measure all of "
            "them\n");
}

}  // namespace
}  // namespace assay
