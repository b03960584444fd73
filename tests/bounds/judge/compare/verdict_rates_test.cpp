// The error rates that docs/method.md promises, simulated: 2,000 campaigns of each world. Bounds
// are the promised rates plus two standard errors of a share of 2,000.
#include <gtest/gtest.h>

#include "support/simulated_campaign.h"

namespace assay {
namespace {

constexpr std::size_t campaigns = 2000;

VerdictRates rates_of(const std::string& world) {
  for (const Scenario& scenario : verdict_scenarios()) {
    if (scenario.name == world) return simulate_campaigns(scenario.time, campaigns, 7);
  }
  ADD_FAILURE() << "no world " << world;
  return {};
}

double with_error(double share) {
  return share + 2 * std::sqrt(share * (1 - share) / static_cast<double>(campaigns));
}

class VerdictRatesAtNoise : public testing::TestWithParam<std::string> {};

TEST_P(VerdictRatesAtNoise, EqualIsNotCalledDifferent) {
  EXPECT_LE(rates_of("equal, normal " + GetParam()).different(), with_error(0.055));
}

TEST_P(VerdictRatesAtNoise, ADifferenceOfTheMarginIsNotCalledEqual) {
  for (const char* noise : {"+2%, normal ", "+2%, slow tail ", "+2%, slow tail and noise "}) {
    EXPECT_LE(rates_of(noise + GetParam()).share(Verdict::equal), with_error(0.061)) << noise;
  }
}

INSTANTIATE_TEST_SUITE_P(Noise, VerdictRatesAtNoise,
                         testing::Values("0.4%", "1.0%", "2.0%", "3.0%"));

TEST(VerdictRates, EqualityIsFoundWithinFortyPairs) {
  const VerdictRates rates = rates_of("equal, normal 2.0%");
  EXPECT_GE(rates.share(Verdict::equal), 0.97 - (with_error(0.03) - 0.03));
  EXPECT_LE(rates.mean_pairs(), 30);
}

TEST(VerdictRates, DriftCancels) {
  const VerdictRates rates = rates_of("equal, drift of 2% over 30 units, 0.4%");
  EXPECT_LE(rates.different(), with_error(0.055));
  EXPECT_GE(rates.share(Verdict::equal), 0.95);
}

TEST(VerdictRates, RareSlowUnitsAreNoDifferenceAndOftenSeen) {
  const VerdictRates rates = rates_of("one unit of B in ten 10% slower, 0.4%");
  EXPECT_LE(rates.different(), with_error(0.055));
  EXPECT_GE(rates.share(Verdict::unstable), 0.45);
}

TEST(VerdictRates, AMovedControlIsSeen) {
  EXPECT_GE(rates_of("control moves by 2%, 0.4%").share(Verdict::invalid), 0.99);
}

TEST(VerdictRates, LargeDifferencesAreNamed) {
  EXPECT_GE(rates_of("+5%, normal 1.0%").share(Verdict::slower), 0.99);
}

}  // namespace
}  // namespace assay
