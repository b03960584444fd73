#include "statistics/paired.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "statistics/distributions.h"

namespace assay {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Above this autocorrelation, neighbouring pairs are averaged two by two (each mean covers a whole
/// block). For few pairs the bound is two standard errors of the autocorrelation of independent
/// values.
constexpr double dependent = 0.4;

/// The correction for skewness is incomplete; holding the t test to about two thirds of alpha makes
/// up for the rest.
constexpr double t_strictness = 0.64;

struct Moments {
  double mean = 0;
  double variance = 0;  ///< of the sample
};

Moments moments(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  Moments result;
  if (values.empty()) return result;
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  for (const double value : values) {
    result.variance += (value - result.mean) * (value - result.mean);
  }
  result.variance = values.size() > 1 ? result.variance / (n - 1) : 0;
  return result;
}

/// Skewness of the distribution the sample was drawn from (adjusted Fisher-Pearson, n > 2).
double skewness(std::span<const double> values, const Moments& of) {
  const double n = static_cast<double>(values.size());
  if (values.size() < 3 || !(of.variance > 0)) return 0;
  double third = 0;
  for (const double value : values) third += std::pow((value - of.mean), 3);
  const double spread = std::sqrt(of.variance * (n - 1) / n);
  return third / n / (spread * spread * spread) * std::sqrt(n * (n - 1)) / (n - 2);
}

/// P(true mean lies `distance` or more below the sample's), one-sided t test with Hall's (1992)
/// correction for skewness: without it, a slow tail that the sample barely contains makes a mean at
/// the margin look safely within it 13 times in 100 instead of 5.
double tail_beyond(double distance, const PairedEffect& effect, double skew) {
  if (!(effect.deviation > 0)) return distance > 0 ? 0 : distance < 0 ? 1 : 0.5;
  const double n = static_cast<double>(effect.n);
  const double t = distance / effect.deviation;
  const double corrected = t + skew * t * t / 3 + skew * skew * t * t * t / 27 + skew / (6 * n);
  return student_t_cdf(-std::sqrt(n) * corrected, effect.freedom);
}

/// The t intervals, the detectable effect and the t test's p, from mean, error and freedom.
void add_t(PairedEffect& effect) {
  const auto interval = [&](double coverage) {
    if (!(effect.freedom > 0)) return Interval{-infinity, infinity};
    const double half = effect.error > 0
                            ? student_t_quantile((1 + coverage) / 2, effect.freedom) * effect.error
                            : 0;
    return Interval{effect.mean - half, effect.mean + half};
  };
  effect.t90 = interval(0.90);
  effect.t95 = interval(0.95);
  if (!(effect.freedom > 0)) return;
  effect.detectable =
      (student_t_quantile(0.975, effect.freedom) + student_t_quantile(0.80, effect.freedom)) *
      effect.error;
  const double t = std::abs(effect.mean) / effect.error;  // 0 / 0 is NaN: no effect at all
  effect.p_different = t >= 0 ? std::min(1.0, 2 * student_t_cdf(-t, effect.freedom)) : 1;
}

/// Of the median of sorted values; infinite if no pair of order statistics has the coverage.
Interval sign_interval(std::span<const double> sorted, double coverage) {
  if (sorted.empty() || coin_cdf(0, sorted.size()) > (1 - coverage) / 2) {
    return {-infinity, infinity};
  }
  return median_interval(sorted, coverage, static_cast<double>(sorted.size()));
}

/// P(at least `count` of n fair coins).
double coin_tail(std::size_t count, std::size_t n) {
  return count == 0 ? 1 : 1 - coin_cdf(count - 1, n);
}

/// The median and its sign intervals, the sign test's part of p_different, and p_equal.
void add_signs(PairedEffect& effect, std::span<const double> values, double skew, double margin) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  effect.median = quantile(sorted, 0.5);
  effect.sign90 = sign_interval(sorted, 0.90);
  effect.sign95 = sign_interval(sorted, 0.95);
  const auto above = [&](double bound) {
    return static_cast<std::size_t>(sorted.end() -
                                    std::upper_bound(sorted.begin(), sorted.end(), bound));
  };
  const auto below = [&](double bound) {
    return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), bound) -
                                    sorted.begin());
  };
  const std::size_t n = sorted.size();
  // Ties count for neither side, which can only make the test more conservative.
  const double p_sign = std::min(1.0, 2 * coin_tail(std::max(above(0), below(0)), n));
  effect.p_different = std::max(effect.p_different, p_sign);
  const double p_tost_sign = std::max(coin_tail(above(-margin), n), coin_tail(below(margin), n));
  const double p_tost_t = std::max(tail_beyond(effect.mean + margin, effect, skew),
                                   tail_beyond(margin - effect.mean, effect, -skew));
  effect.p_equal = std::max(std::min(1.0, p_tost_t / t_strictness), p_tost_sign);
}

void add_outliers(PairedEffect& effect, std::span<const double> differences, double margin) {
  std::vector<double> sorted(differences.begin(), differences.end());
  std::sort(sorted.begin(), sorted.end());
  const double middle = quantile(sorted, 0.5);
  std::vector<double> distances;
  for (const double d : differences) distances.push_back(std::abs(d - middle));
  std::vector<double> by_size = distances;
  std::sort(by_size.begin(), by_size.end());
  const double bound = std::max(margin / 2, 5 * 1.4826 * quantile(by_size, 0.5));
  for (std::size_t i = 0; i < distances.size(); ++i) {
    if (distances[i] > bound) effect.outliers.push_back(i);
  }
  effect.outlier_share_limit = share_upper_bound(effect.outliers.size(), differences.size(), 0.95);
}

std::vector<double> two_by_two(std::span<const double> values) {
  std::vector<double> means;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    means.push_back((values[i] + values[i + 1]) / 2);
  }
  return means;
}

}  // namespace

PairedEffect paired_effect(std::span<const double> differences, double margin) {
  PairedEffect effect;
  effect.pairs = differences.size();
  effect.autocorrelation = autocorrelation(differences);
  std::vector<double> values(differences.begin(), differences.end());
  const double bound = std::max(
      dependent, 2 / std::sqrt(static_cast<double>(std::max<std::size_t>(1, values.size()))));
  if (std::abs(effect.autocorrelation) > bound) values = two_by_two(differences);
  effect.n = values.size();
  const Moments of = moments(values);
  effect.mean = of.mean;
  effect.deviation = std::sqrt(of.variance);
  if (effect.n > 1) {
    effect.error = effect.deviation / std::sqrt(static_cast<double>(effect.n));
    effect.freedom = static_cast<double>(effect.n - 1);
  }
  add_t(effect);
  if (effect.n < 2) {
    effect.median = effect.mean;
    effect.sign90 = effect.sign95 = {-infinity, infinity};
    return effect;
  }
  add_signs(effect, values, skewness(values, of), margin);
  add_outliers(effect, differences, margin);
  return effect;
}

PairedEffect unpaired_effect(std::span<const double> a, std::span<const double> b) {
  PairedEffect effect;
  effect.n = effect.pairs = std::min(a.size(), b.size());
  const Moments of_a = moments(a), of_b = moments(b);
  effect.mean = effect.median = of_b.mean - of_a.mean;
  effect.sign90 = effect.sign95 = {-infinity, infinity};
  if (effect.n > 1) {
    const double n_a = static_cast<double>(a.size()), n_b = static_cast<double>(b.size());
    const double part_a = of_a.variance / n_a, part_b = of_b.variance / n_b;
    effect.error = std::sqrt(part_a + part_b);
    effect.deviation = std::sqrt(of_a.variance + of_b.variance);
    // Welch and Satterthwaite.
    const double below = part_a * part_a / (n_a - 1) + part_b * part_b / (n_b - 1);
    effect.freedom = below > 0 ? effect.error * effect.error * effect.error * effect.error / below
                               : n_a + n_b - 2;
  }
  add_t(effect);
  return effect;
}

bool precise_enough(const PairedEffect& effect, double margin, double share) {
  const auto narrow = [&](const Interval& interval) {
    return (interval.high - interval.low) / 2 <= share * margin;
  };
  return effect.n >= least_units && narrow(effect.t90) && narrow(effect.sign90);
}

std::size_t values_needed(double deviation, double distance) {
  constexpr std::size_t most = 10'000;
  // Two one-sided tests at 5%, each with 95% power, so 90% together; the sign test needs about 1.6
  // times as many values as the t test.
  const double normal = 2 * normal_quantile(0.95) * deviation / distance;
  const double values = 1.6 * normal * normal;
  return values < static_cast<double>(most) ? static_cast<std::size_t>(std::ceil(values)) : most;
}

}  // namespace assay
