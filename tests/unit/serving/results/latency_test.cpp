// Statistics of latencies, of what is in flight, and of slopes.
#include "serving/results/latency.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/random.h"
#include "serving/results/in_flight.h"
#include "statistics/slope.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

const std::vector<double> percents = {50, 90, 99};

// Replies whose gaps depend on each other: each reply has its own speed, lognormal, and noise on
// top. 30 to 60 gaps.
struct Replies {
  explicit Replies(std::uint64_t seed, int n) {
    Random random(seed);
    for (int i = 0; i < n; ++i) {
      const double speed = std::exp(0.3 * random.normal());
      const int gaps = 30 + static_cast<int>(random.uniform() * 31);
      auto& reply = all.emplace_back();
      for (int g = 0; g < gaps; ++g) {
        reply.push_back(static_cast<float>(speed * std::exp(0.1 * random.normal())));
      }
    }
  }
  Latency latency(std::size_t resamples = 200) const {
    std::vector<ReplyGaps> gaps;
    for (const auto& reply : all) gaps.push_back({reply, 1});
    return pooled_latency_of(gaps, percents, 1, resamples);
  }
  std::vector<std::vector<float>> all;
};

// Gaps are lognormal with the logarithm's variance 0.09 + 0.01, so the true values are known.
TEST(PooledLatency, IntervalsHoldTheTrueValues) {
  const double deviation = std::sqrt(0.1);
  const double mean = std::exp(0.05), p90 = std::exp(1.2815515655 * deviation);
  int mean_held = 0, median_held = 0, p90_held = 0;
  constexpr int trials = 200;
  for (int trial = 0; trial < trials; ++trial) {
    const Latency latency = Replies(static_cast<std::uint64_t>(trial) + 1, 100).latency();
    const auto holds = [](const Interval& interval, double value) {
      return interval.low <= value && value <= interval.high;
    };
    mean_held += holds(*latency.mean95, mean);
    median_held += holds(latency.median95, 1);
    p90_held += holds(latency.percentile(90)->interval95, p90);
  }
  EXPECT_THAT(mean_held / double{trials}, AllOf(Ge(0.90), Le(0.99)));
  EXPECT_THAT(median_held / double{trials}, AllOf(Ge(0.90), Le(0.99)));
  EXPECT_THAT(p90_held / double{trials}, AllOf(Ge(0.88), Le(0.99)));
}

TEST(PooledLatency, TheSameSeedGivesTheSame) {
  const Replies replies(7, 50);
  const Latency one = replies.latency(), other = replies.latency();
  EXPECT_EQ(one.mean95->low, other.mean95->low);
  EXPECT_LT(one.mean95->low, one.mean);
  EXPECT_GT(one.mean95->high, one.mean);
  for (const Percentile& percentile : one.percentiles) {
    EXPECT_LE(percentile.interval95.low, percentile.value);
    EXPECT_GE(percentile.interval95.high, percentile.value);
  }
}

TEST(PooledLatency, ScalesAndSkipsRepliesWithoutGaps) {
  const std::vector<float> two = {1, 3}, none;
  const Latency latency = pooled_latency_of({{two, 0.5}, {none, 1}, {two, 1}}, percents, 1, 100);
  EXPECT_EQ(latency.n, 4u);
  EXPECT_EQ(latency.mean, 1.5);
  EXPECT_EQ(latency.maximum, 3);
  const Latency mostly_none =
      pooled_latency_of({{two, 1}, {none, 1}, {none, 1}, {none, 1}, {two, 2}}, percents, 1, 100);
  EXPECT_TRUE(std::isfinite(mostly_none.mean95->low) && std::isfinite(mostly_none.mean95->high));
  const Replies replies(7, 50);
  std::vector<ReplyGaps> halves;
  for (const auto& reply : replies.all) halves.push_back({reply, 0.5});
  EXPECT_DOUBLE_EQ(pooled_latency_of(halves, percents, 1, 200).mean95->high,
                   replies.latency().mean95->high / 2);
  EXPECT_EQ(pooled_latency_of({{none, 1}}, percents, 1, 100).mean, 0);
  const Latency single = pooled_latency_of({{two, 1}}, percents, 1, 100);
  EXPECT_EQ(single.mean95->low, single.mean);
}

TEST(Latency, IntervalsOfIndependentValues) {
  Random random(3);
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(random.uniform());
  const Latency latency = latency_of(values, percents);
  EXPECT_NEAR(latency.mean95->high - latency.mean95->low, 2 * 1.96 * std::sqrt(1.0 / 12000), 0.003);
  EXPECT_LT(latency.percentile(90)->interval95.low, 0.9);
  EXPECT_GT(latency.percentile(90)->interval95.high, 0.9);
  EXPECT_EQ(latency.percentile(95), nullptr);
  EXPECT_EQ(latency_of({2}, percents).mean95->high, 2);
  EXPECT_EQ(latency_of({}, percents).percentile(99)->value, 0);
}

TEST(Latency, AMeanIsNeverBelowZero) {
  const Latency latency = latency_of({0.1, 9, 0.2}, percents);
  EXPECT_EQ(latency.mean95->low, 0);
  EXPECT_GT(latency.mean95->high, 2 * latency.mean);
}

TEST(Latency, TheMeanOfADriftingRunHasNoInterval) {
  std::vector<double> waits, noisy, wandering, flat;
  Random random(5);
  double place = 0;
  for (int i = 0; i < 300; ++i) {
    waits.push_back(0.01 * i);  // a queue that grows: each wait is like the one before
    noisy.push_back(0.01 * i + random.uniform());
    place = 0.99 * place + random.normal();
    wandering.push_back(100 + place);
    flat.push_back(random.uniform());
  }
  EXPECT_FALSE(latency_of(waits, percents).mean95);
  EXPECT_FALSE(latency_of(noisy, percents).mean95);
  EXPECT_FALSE(latency_of(wandering, percents).mean95);
  EXPECT_TRUE(latency_of(flat, percents).mean95);
  EXPECT_EQ(latency_of(waits, percents).mean, mean(waits));
  for (double& value : noisy) value = 1000 + value;  // by less than 1% of the mean
  EXPECT_TRUE(latency_of(noisy, percents).mean95);
  std::vector<double> few;
  for (int i = 0; i < 20; ++i) few.push_back(0.6 * i);
  EXPECT_FALSE(latency_of(few, percents).mean95);
}

TEST(InFlight, SweepsExactly) {
  const InFlight in_flight({{0, 2}, {1, 3}, {2, 4}, {5, 5}, {6, 7}});
  EXPECT_EQ(in_flight.most(), 2u);  // at 2, one request ends as another begins
  EXPECT_EQ(in_flight.at(-1), 0u);
  EXPECT_EQ(in_flight.at(1), 2u);
  EXPECT_EQ(in_flight.at(3.5), 1u);
  EXPECT_EQ(in_flight.at(8), 0u);
  EXPECT_EQ(in_flight.at_least(2)->begin, 1);
  EXPECT_EQ(in_flight.at_least(2)->end, 3);
  EXPECT_EQ(in_flight.at_least(0.95)->end, 7);
  EXPECT_FALSE(in_flight.at_least(3));
  EXPECT_EQ(InFlight({}).most(), 0u);
  EXPECT_FALSE(InFlight({}).at_least(1));
}

// y = 1 2 4 over x = 0 1 2: slope 1.5, residuals 1/6 -1/3 1/6, so s^2 = 1/6 and the error
// sqrt(1/12) with one degree of freedom, t = 12.706.
TEST(Slope, ByHand) {
  const auto slope = slope_of(std::vector<double>{0, 1, 2}, std::vector<double>{1, 2, 4});
  ASSERT_TRUE(slope);
  EXPECT_DOUBLE_EQ(slope->value, 1.5);
  EXPECT_NEAR(slope->margin95, 12.7062 * std::sqrt(1.0 / 12), 1e-4);
  EXPECT_FALSE(slope_of(std::vector<double>{0, 1}, std::vector<double>{1, 2}));
  EXPECT_FALSE(slope_of(std::vector<double>{1, 1, 1}, std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace assay
