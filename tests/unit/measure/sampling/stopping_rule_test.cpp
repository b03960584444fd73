#include "measure/sampling/stopping_rule.h"

#include <gtest/gtest.h>

#include "core/random.h"

namespace assay {
namespace {

TEST(StoppingRule, StopsOnPrecisionAtTheEarliestLook) {
  StoppingRule rule({});
  for (int i = 0; i < 29; ++i) EXPECT_EQ(rule.after(1.0, 0), std::nullopt) << i;
  EXPECT_EQ(rule.after(1.0, 0), StopReason::precision);
}

TEST(StoppingRule, NoisySamplesNeedMore) {
  StoppingRule rule({});
  Random random(1);
  std::size_t n = 0;
  std::optional<StopReason> stop;
  while (!stop) {
    stop = rule.after(std::exp(0.05 * random.normal()), 0);
    ++n;
  }
  EXPECT_EQ(stop, StopReason::precision);
  // Half-width of the median's interval: 1.96 * 1.2533 * 0.05 / sqrt(n) = 0.005 at n = 603.
  EXPECT_GT(n, 350u);
  EXPECT_LT(n, 1200u);
}

TEST(StoppingRule, DependentSamplesNeedMoreThanIndependentOnes) {
  const auto count = [](double rho) {
    StoppingRule rule({});
    Random random(7);
    double noise = 0;
    for (std::size_t n = 1;; ++n) {
      noise = rho * noise + std::sqrt(1 - rho * rho) * random.normal();
      if (rule.after(std::exp(0.03 * noise), 0)) return n;
    }
  };
  EXPECT_GT(count(0.8), 2 * count(0));
}

TEST(StoppingRule, NoStopOnPrecisionBeforeTheLeastTime) {
  StoppingRule rule(sustained({}, false));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rule.after(1.0, 1.9), std::nullopt);
  EXPECT_EQ(rule.after(1.0, 2.1), StopReason::precision);
}

TEST(StoppingRule, StopsInMoreThanATenthOfThePeriodsAreOften) {
  EXPECT_TRUE(stopped_often(5, 0.5));
  EXPECT_TRUE(stopped_often(11, 10));
  EXPECT_FALSE(stopped_often(9, 10));
  EXPECT_FALSE(stopped_often(0, 0));
}

TEST(StoppingRule, SamplesOfStoppedThreadsLastForWholePeriodsOfTheQuota) {
  const auto seconds = [](double time_box) {
    SamplingLimits limits;
    limits.sustained_time_box_seconds = time_box;
    return stopped_by_quota(limits).least_sample_seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(10), 0.4);
  EXPECT_DOUBLE_EQ(seconds(2.5), 0.2);
  EXPECT_DOUBLE_EQ(seconds(0.01), 0.1) << "a shorter sample would show nothing of the quota";
  SamplingLimits at_barrier;
  at_barrier.precision = 0;
  EXPECT_EQ(stopped_by_quota(at_barrier).time_box_seconds, at_barrier.time_box_seconds)
      << "the processes at a barrier load the machine for the same time";
}

TEST(StoppingRule, ThrottledWorkIsSeenThroughManySwingsOfTheClock) {
  const SamplingLimits limits = sustained({}, true);
  EXPECT_EQ(limits.least_sample_seconds, 0.4);
  StoppingRule rule(limits);
  for (int i = 0; i < 14; ++i) EXPECT_EQ(rule.after(1.0, 0.4 * i), std::nullopt);
  EXPECT_EQ(rule.after(1.0, 5.9), std::nullopt);
  EXPECT_EQ(rule.after(1.0, 6.1), StopReason::precision);
  SamplingLimits tight;
  tight.sustained_time_box_seconds = 0.15;  // as a budget sets it
  EXPECT_DOUBLE_EQ(sustained(tight, true).least_sample_seconds, 0.01);
}

TEST(StoppingRule, TimeBoxAndSampleLimit) {
  SamplingLimits limits;
  limits.most_samples = 40;
  Random random(1);
  StoppingRule timed(limits);
  EXPECT_EQ(timed.after(random.uniform(), 2.5), StopReason::time_box);
  StoppingRule longer(sustained(limits, false));
  EXPECT_EQ(longer.after(random.uniform(), 2.5), std::nullopt);
  EXPECT_EQ(longer.after(random.uniform(), 10.5), StopReason::time_box);
  StoppingRule counted(limits);
  for (int i = 0; i < 39; ++i) EXPECT_EQ(counted.after(random.uniform(), 0), std::nullopt);
  EXPECT_EQ(counted.after(random.uniform(), 0), StopReason::sample_limit);
}

TEST(StoppingRule, AFixedNumberOfSamplesEndsNeitherEarlyNorLate) {
  SamplingLimits limits;
  limits.budget_seconds = 100;
  const SamplingLimits fixed = exactly(40, limits);
  StoppingRule alike(fixed);  // 30 of them are precise
  for (int i = 0; i < 39; ++i) EXPECT_EQ(alike.after(1.0, 99), std::nullopt) << i;
  EXPECT_EQ(alike.after(1.0, 101), StopReason::sample_limit);
  StoppingRule slow(fixed);
  EXPECT_EQ(slow.after(1.0, 99), std::nullopt);
  EXPECT_EQ(slow.after(1.0, 101), StopReason::interrupted);
}

SamplingLimits unsettled() {
  SamplingLimits limits;
  limits.settling_seconds = 0;
  return limits;
}

TEST(WarmupRule, WarmAfterTwoAgreeingWindows) {
  WarmupRule rule(unsettled());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rule.after(2.0, 0), std::nullopt);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rule.after(1.0, 0), std::nullopt);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(rule.after(1.004, 0), std::nullopt);
  EXPECT_EQ(rule.after(1.004, 0), StopReason::warm);
}

TEST(WarmupRule, WindowsLastAsLongAsAsked) {
  WarmupRule rule({});
  // A clock that falls under a power cap: fast for 0.1 s, slow from then on, 1 ms a sample.
  int launches = 0;
  std::optional<StopReason> stop;
  for (; !stop; ++launches) stop = rule.after(launches < 100 ? 1.0 : 1.2, launches * 1e-3);
  EXPECT_EQ(stop, StopReason::warm);
  EXPECT_GE(launches, 400);
  EXPECT_LE(launches, 700);
}

TEST(WarmupRule, AtLeastThreeLaunchesEvenWhenTimeIsUp) {
  WarmupRule rule(unsettled());
  EXPECT_EQ(rule.after(1.0, 5), std::nullopt);
  EXPECT_EQ(rule.after(1.0, 6), std::nullopt);
  EXPECT_EQ(rule.after(1.0, 7), StopReason::time_box);
}

TEST(WarmupRule, AFixedNumberOfSamplesFollowsThreeLaunches) {
  for (const double apart : {0.0, 1.0}) {  // seconds
    WarmupRule rule(exactly(40, {}));
    EXPECT_EQ(rule.after(1.0, 0), std::nullopt);
    EXPECT_EQ(rule.after(1.0, apart), std::nullopt);
    EXPECT_EQ(rule.after(1.0, 2 * apart), StopReason::time_box);
  }
}

}  // namespace
}  // namespace assay
