#include "judge/compare/disturbance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// What others took of 12 pairs: 2%, and half in the pairs that are named.
TakenByPair taken(const std::vector<std::size_t>& disturbed) {
  TakenByPair all;
  for (std::size_t pair = 0; pair < 12; ++pair) all[pair] = 0.02;
  for (const std::size_t pair : disturbed) all[pair] = 0.5;
  return all;
}

TEST(DisturbedPairs, AreLeftOutWhicheverSideWasDisturbed) {
  const DisturbedPairs chosen = disturbed_pairs(taken({1, 5}), taken({5, 7}));
  EXPECT_THAT(chosen.left_out, ElementsAre(1, 5, 7));
  EXPECT_EQ(chosen.note,
            "3 of 12 pairs were disturbed: other programs and the hypervisor took more than 10% of "
            "the CPUs' time in one of their units; they are left out");
  EXPECT_EQ(disturbed_pairs(taken({5, 7}), taken({1, 5})).left_out, chosen.left_out);
}

TEST(DisturbedPairs, NothingIsSaidWhereNothingWasDisturbedOrKnown) {
  for (const DisturbedPairs& chosen :
       {disturbed_pairs(taken({}), taken({})), disturbed_pairs({}, {}),
        disturbed_pairs(taken({1, 2, 3}), {})}) {
    EXPECT_THAT(chosen.left_out, IsEmpty());
    EXPECT_EQ(chosen.note, "");
  }
}

/// Six of one side alone are significant at 5%, five are not.
TEST(DisturbedPairs, AreKeptIfTheDisturbanceMayBelongToOneSide) {
  const DisturbedPairs kept = disturbed_pairs(taken({}), taken({0, 1, 2, 3, 4, 5}));
  EXPECT_THAT(kept.left_out, IsEmpty());
  EXPECT_THAT(kept.note,
              HasSubstr("0 times of A alone and 6 times of B alone; they are judged with "
                        "the others, because the disturbance may belong to B"));
  EXPECT_EQ(disturbed_pairs(taken({0, 1, 2, 3, 4}), taken({})).left_out.size(), 5u);
}

TEST(DisturbedPairs, AreKeptIfTooFewOthersRemain) {
  const DisturbedPairs kept = disturbed_pairs(taken({0, 1, 2, 3}), taken({4, 5, 6}));
  EXPECT_THAT(kept.left_out, IsEmpty());
  EXPECT_THAT(kept.note, HasSubstr("7 of 12 pairs were disturbed"));
  EXPECT_THAT(kept.note, HasSubstr("because fewer than 6 pairs would remain"));
  EXPECT_EQ(disturbed_pairs(taken({0, 1, 2}), taken({4, 5, 6})).left_out.size(), 6u);
}

}  // namespace
}  // namespace assay
