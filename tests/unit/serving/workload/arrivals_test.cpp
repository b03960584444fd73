#include "serving/workload/arrivals.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "core/random.h"
#include "statistics/summary.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double infinite = std::numeric_limits<double>::infinity();

std::vector<double> gaps_of(const std::vector<double>& times) {
  std::vector<double> gaps;
  double before = 0;
  for (const double time : times) {
    gaps.push_back(time - before);
    before = time;
  }
  return gaps;
}

/// Kolmogorov and Smirnov's statistic, the largest distance to the gamma distribution of that shape
/// and mean, over its critical value at 0.1% (1.949 / sqrt n, e.g. Stephens 1974): below 1 passes.
double kolmogorov_smirnov(std::vector<double> gaps, double shape, double mean_gap) {
  std::sort(gaps.begin(), gaps.end());
  const double n = static_cast<double>(gaps.size());
  double distance = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const double expected = boost::math::gamma_p(shape, gaps[i] / mean_gap * shape);
    const double below = static_cast<double>(i) / n, above = static_cast<double>(i + 1) / n;
    distance = std::max({distance, std::abs(expected - below), std::abs(expected - above)});
  }
  return distance * std::sqrt(n) / 1.949;
}

std::vector<double> times_of(std::size_t n, const ArrivalSettings& settings, std::uint64_t seed) {
  auto times = arrivals(n, settings, seed);
  EXPECT_TRUE(times.ok()) << times.error().message;
  return times.ok() ? std::move(*times) : std::vector<double>{};
}

constexpr std::size_t draws = 5000;

TEST(Arrivals, GapsPassKolmogorovSmirnov) {
  for (const double burstiness : {1.0, 0.25, 0.5, 2.0, 10.0}) {
    for (const double rate : {0.5, 16.0, 1000.0}) {
      for (const std::uint64_t seed : {1u, 2u, 3u}) {
        const auto gaps = gaps_of(times_of(draws, {rate, burstiness, {}}, seed));
        EXPECT_LT(kolmogorov_smirnov(gaps, burstiness, 1 / rate), 1)
            << burstiness << " " << rate << " " << seed;
      }
    }
  }
}

// The test above finds generators that are wrong only a little.
TEST(Arrivals, KolmogorovSmirnovFindsBrokenGenerators) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    Random random(seed);
    std::vector<double> uniform, slow, without_boost;
    for (std::size_t i = 0; i < draws; ++i) {
      uniform.push_back(2 * random.uniform());
      slow.push_back(1.1 * random.gamma(1));
      // Draws shape 0.5 as shape 1.5, without the factor that corrects for it.
      without_boost.push_back(random.gamma(1.5) / 1.5);
    }
    EXPECT_GT(kolmogorov_smirnov(uniform, 1, 1), 1);
    EXPECT_GT(kolmogorov_smirnov(slow, 1, 1), 1);
    EXPECT_GT(kolmogorov_smirnov(without_boost, 0.5, 1), 1);
    EXPECT_GT(kolmogorov_smirnov(gaps_of(times_of(draws, {1, 0.8, {}}, seed)), 1, 1), 1);
  }
}

TEST(Arrivals, VariationFollowsBurstiness) {
  for (const double burstiness : {0.2, 1.0, 5.0}) {
    const auto gaps = gaps_of(times_of(100000, {16, burstiness, {}}, 5));
    const double variation = population_deviation(gaps) / mean(gaps);
    EXPECT_NEAR(variation * variation * burstiness, 1, 0.05) << burstiness;
  }
}

TEST(Arrivals, TheRateIsExactAndTheSeedDecides) {
  const auto times = times_of(1000, {16, 1, {}}, 7);
  EXPECT_DOUBLE_EQ(times.back(), 62.5);
  EXPECT_GT(times.front(), 0);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_EQ(times, times_of(1000, {16, 1, {}}, 7));
  EXPECT_NE(times, times_of(1000, {16, 1, {}}, 8));
}

TEST(Arrivals, ConstantAndAllAtOnce) {
  EXPECT_THAT(times_of(3, {4, infinite, {}}, 1), ElementsAre(0.25, 0.5, 0.75));
  EXPECT_THAT(times_of(3, {infinite, 1, {}}, 1), ElementsAre(0, 0, 0));
  EXPECT_THAT(times_of(0, {4, 1, {}}, 1), ElementsAre());
}

TEST(Arrivals, RampsByRequest) {
  ArrivalSettings settings;
  settings.burstiness = infinite;
  settings.ramp = RateRamp{false, 1, 4};
  EXPECT_THAT(gaps_of(times_of(4, settings, 1)),
              ElementsAre(1, testing::DoubleNear(0.5, 1e-12), testing::DoubleNear(1.0 / 3, 1e-12),
                          testing::DoubleNear(0.25, 1e-12)));
  settings.ramp = RateRamp{true, 1, 4};
  EXPECT_THAT(gaps_of(times_of(3, settings, 1)), ElementsAre(1, 0.5, 0.25));
  EXPECT_THAT(times_of(1, settings, 1), ElementsAre(1));
  settings.burstiness = 4;  // does not affect the mean
  const auto gaps = gaps_of(times_of(20000, settings, 1));
  EXPECT_NEAR(mean(std::span(gaps).first(1000)), 1, 0.1);
  EXPECT_NEAR(mean(std::span(gaps).last(1000)), 0.25, 0.025);
}

TEST(Arrivals, RefusesInvalidRates) {
  const auto message = [](const ArrivalSettings& settings) {
    const auto times = arrivals(3, settings, 1);
    return times.ok() ? "accepted" : times.error().message;
  };
  EXPECT_EQ(message({0, 1, {}}), "request rate 0 is not above 0");
  EXPECT_THAT(message({std::nan(""), 1, {}}), HasSubstr("is not above 0"));
  EXPECT_EQ(message({1, 0, {}}), "burstiness 0 is below 0.01");
  EXPECT_EQ(message({1, 1, RateRamp{true, 1, infinite}}),
            "rate inf of the ramp is not above 0 and finite");
}

class Conversations final : public Prompts {
 public:
  std::size_t size() const override { return 12; }
  Prompt at(std::size_t) const override { return {}; }
  bool follows(std::size_t index) const override { return index % 4 > 0; }
};

/// Three conversations of four turns are twelve requests: at 8 requests/s they take 1.5 s.
TEST(Arrivals, RatesCountEveryTurn) {
  EXPECT_THAT(*conversation_arrivals(Conversations(), {8, infinite, {}}, 1),
              ElementsAre(0.5, 1, 1.5));
  ArrivalSettings settings;
  settings.burstiness = infinite;
  settings.ramp = RateRamp{true, 4, 16};
  EXPECT_THAT(gaps_of(*conversation_arrivals(Conversations(), settings, 1)),
              ElementsAre(1, 0.5, 0.25));
}

class Recorded final : public Prompts {
 public:
  explicit Recorded(std::vector<double> times) : times_(std::move(times)) {}
  std::size_t size() const override { return times_.size(); }
  Prompt at(std::size_t) const override { return {}; }
  double recorded_seconds(std::size_t index) const override { return times_[index]; }

 private:
  std::vector<double> times_;
};

TEST(Arrivals, AsRecordedButFaster) {
  EXPECT_THAT(*recorded_arrivals(Recorded({10, 11, 11, 15}), 2), ElementsAre(0, 0.5, 0.5, 2.5));
  EXPECT_THAT(recorded_arrivals(Recorded({1, -1}), 1).error().message,
              HasSubstr("no arrival times"));
  EXPECT_THAT(recorded_arrivals(Recorded({1, 3, 2}), 1).error().message,
              HasSubstr("request 2 arrived at 2 s, before"));
  EXPECT_THAT(recorded_arrivals(Recorded({1, 1e10}), 1).error().message,
              HasSubstr("allowed: up to 86400000"));
  EXPECT_THAT(recorded_arrivals(Recorded({1}), 0).error().message, HasSubstr("speed 0"));
}

// Moments of the gamma distribution: mean and variance are both the shape.
TEST(RandomGamma, Moments) {
  for (const double shape : {0.05, 0.7, 1.0, 3.0, 200.0}) {
    Random random(11);
    std::vector<double> values;
    for (int i = 0; i < 100000; ++i) values.push_back(random.gamma(shape));
    EXPECT_NEAR(mean(values) / shape, 1, 0.05) << shape;
    EXPECT_NEAR(std::pow(population_deviation(values), 2) / shape, 1, 0.1) << shape;
  }
}

}  // namespace
}  // namespace assay
