#include "advise/tune/proof.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"

namespace assay {
namespace {

/// Pairs in which the best setting is `gain` times as fast, with noise of both runs.
std::vector<ScorePair> pairs_of(std::size_t count, double gain, double noise, std::uint64_t seed) {
  Random random(seed);
  std::vector<ScorePair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.push_back({noise * random.normal(), std::log(gain) + noise * random.normal()});
  }
  return pairs;
}

TEST(Proof, TellsBetterFromWorseAndEqual) {
  const Proof better = prove(pairs_of(10, 1.1, 0.01, 1));
  EXPECT_TRUE(better.better);
  EXPECT_FALSE(better.worse);
  EXPECT_EQ(better.verdict, Verdict::faster);
  EXPECT_NEAR(better.ratio, 1.1, 0.02);
  EXPECT_LT(better.interval95.low, better.ratio);
  EXPECT_GT(better.interval95.low, 1.05);
  const Proof worse = prove(pairs_of(10, 1 / 1.1, 0.01, 2));
  EXPECT_TRUE(worse.worse);
  EXPECT_FALSE(worse.better);
  const Proof equal = prove(pairs_of(40, 1, 0.01, 3));
  EXPECT_EQ(equal.verdict, Verdict::equal);
  EXPECT_FALSE(equal.better || equal.worse);
}

TEST(Proof, AGainBelowTheMarginIsOneIfItIsProven) {
  const Proof proof = prove(pairs_of(40, 1.01, 0.008, 4));
  EXPECT_EQ(proof.verdict, Verdict::equal);
  EXPECT_TRUE(proof.better);
  EXPECT_FALSE(proof.worse);
}

TEST(Proof, SaysBetterOfEqualsInFewCases) {
  int wrong = 0;
  for (std::uint64_t seed = 100; seed < 500; ++seed)
    wrong += prove(pairs_of(12, 1, 0.02, seed)).better;
  EXPECT_LE(wrong, 20);  // 2.5% of 400, and chance
}

TEST(Proof, FewPairsProveNothing) {
  EXPECT_FALSE(prove(pairs_of(5, 2, 0.001, 5)).better);
  EXPECT_FALSE(prove({}).better);
  EXPECT_FALSE(precise_enough(pairs_of(4, 1, 0.0001, 5)));
}

TEST(Proof, MorePairsAreAskedForUntilTheyArePreciseEnough) {
  EXPECT_TRUE(precise_enough(pairs_of(10, 1.3, 0.002, 8)));
  EXPECT_FALSE(precise_enough(pairs_of(11, 1.3, 0.002, 8)));  // the orders are not balanced
  EXPECT_FALSE(precise_enough(pairs_of(10, 1.3, 0.03, 7)));
}

TEST(Proof, EachComesFirstEquallyOften) {
  EXPECT_FALSE(is_turn_of_best(0, 0));
  EXPECT_TRUE(is_turn_of_best(0, 1));
  EXPECT_TRUE(is_turn_of_best(1, 0));
  EXPECT_FALSE(is_turn_of_best(1, 1));
}

}  // namespace
}  // namespace assay
