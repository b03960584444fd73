#include "statistics/paired.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "statistics/dependence.h"
#include "statistics/distributions.h"

namespace assay {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// If a side drifts by itself, its mean must be this number of deviations away to prove something.
/// bench_family_rates simulates how often this happens for equal sides.
constexpr double drifting_deviations = 8;

/// An outlier is at least this many times as far from the median as any pair of the control.
constexpr double control_multiple = 2;

/// The correction for skewness is incomplete. A t test at about two thirds of alpha compensates for
/// the rest.
constexpr double t_strictness = 0.64;
/// The stricter level of the t test that replaces the correction if that is left out.
constexpr double uncorrected_strictness = 0.25;

struct Moments {
  double mean = 0;
  double variance = 0;  ///< variance of the sample
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

/// Returns the skewness of the distribution from which the sample was drawn (adjusted
/// Fisher-Pearson, n > 2).
double skewness(std::span<const double> values, const Moments& of) {
  const double n = static_cast<double>(values.size());
  if (values.size() < 3 || !(of.variance > 0)) return 0;
  double third = 0;
  for (const double value : values) third += std::pow((value - of.mean), 3);
  const double spread = std::sqrt(of.variance * (n - 1) / n);
  return third / n / (spread * spread * spread) * std::sqrt(n * (n - 1)) / (n - 2);
}

/// Returns P(true mean is `distance` or more below the sample's): a one-sided t test with Hall's
/// (1992) correction for skewness. Without it, a slow tail that the sample barely contains makes a
/// mean at the margin look safely within it 13 times in 100 instead of 5.
double tail_beyond(double distance, const PairedEffect& effect, double skew) {
  if (!(effect.deviation > 0)) return distance > 0 ? 0 : distance < 0 ? 1 : 0.5;
  const double t = distance / effect.deviation;
  const double corrected =
      t + skew * t * t / 3 + skew * skew * t * t * t / 27 + skew / (6 * effect.n);
  return student_t_cdf(-std::sqrt(effect.n) * corrected, effect.freedom);
}

/// Adds the intervals of the mean and the detectable effect, from mean, error and freedom.
void add_intervals(PairedEffect& effect) {
  const auto around = [&](double half) { return Interval{effect.mean - half, effect.mean + half}; };
  if (!(effect.freedom > 0)) {
    effect.t90 = effect.t95 = {-infinity, infinity};
    return;
  }
  if (effect.drifts()) {
    effect.t90 = effect.t95 = around(drifting_deviations * effect.deviation);
    effect.detectable = drifting_deviations * effect.deviation;
    return;
  }
  const auto half = [&](double coverage) {
    return effect.error > 0 ? student_t_quantile((1 + coverage) / 2, effect.freedom) * effect.error
                            : 0;
  };
  effect.t90 = around(half(0.90));
  effect.t95 = around(half(0.95));
  effect.detectable =
      (student_t_quantile(0.975, effect.freedom) + student_t_quantile(0.80, effect.freedom)) *
      effect.error;
}

/// Returns the interval of the median of sorted values that are worth n independent ones. It is
/// infinite if no pair of order statistics has the coverage.
Interval sign_interval(std::span<const double> sorted, double coverage, double n) {
  if (sorted.empty() || coin_cdf(0, static_cast<std::size_t>(n)) > (1 - coverage) / 2) {
    return {-infinity, infinity};
  }
  return median_interval(sorted, coverage, n);
}

/// Returns P(at least `count` of n fair coins).
double coin_tail(std::size_t count, std::size_t n) {
  return count == 0 ? 1 : 1 - coin_cdf(count - 1, n);
}

/// Returns the number of independent values that the signs of dependent ones are worth. They only
/// supplement the t test, and must not prevent verdicts on few values.
double signs_of(const PairedEffect& effect) {
  return std::min(static_cast<double>(effect.pairs),
                  std::max(effect.n, static_cast<double>(least_units)));
}

/// Adds the median and its sign intervals.
void add_signs(PairedEffect& effect, std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  effect.median = quantile(sorted, 0.5);
  effect.sign90 = sign_interval(sorted, 0.90, signs_of(effect));
  effect.sign95 = sign_interval(sorted, 0.95, signs_of(effect));
}

/// Adds p_equal, if the true distribution has this skewness; the t test uses `strictness` of alpha.
void add_equality(PairedEffect& effect, std::span<const double> values, double skew, double margin,
                  double strictness) {
  if (effect.drifts()) {
    effect.p_equal = effect.t95.low > -margin && effect.t95.high < margin ? 0 : 1;
    return;
  }
  const double coins = std::floor(signs_of(effect));
  const auto counted = [&](auto is) {
    const auto count = static_cast<double>(std::ranges::count_if(values, is));
    return static_cast<std::size_t>(count * coins / static_cast<double>(values.size()));
  };
  const std::size_t above = counted([&](double value) { return value > -margin; });
  const std::size_t below = counted([&](double value) { return value < margin; });
  const auto n = static_cast<std::size_t>(coins);
  const double p_sign = std::max(coin_tail(above, n), coin_tail(below, n));
  const double p_t = std::max(tail_beyond(effect.mean + margin, effect, skew),
                              tail_beyond(margin - effect.mean, effect, -skew));
  effect.p_equal = std::max(std::min(1.0, p_t / strictness), p_sign);
}

std::vector<double> distances_from_median(std::span<const double> values) {
  const double middle = median({values.begin(), values.end()});
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return distances;
}

void add_outliers(PairedEffect& effect, std::span<const double> differences, double margin) {
  const std::vector<double> distances = distances_from_median(differences);
  const double bound = std::max(margin / 2, 5 * 1.4826 * median(distances));
  for (std::size_t i = 0; i < distances.size(); ++i) {
    if (distances[i] > bound) effect.outliers.push_back(i);
  }
  effect.outlier_share_limit = share_upper_bound(effect.outliers.size(), differences.size(), 0.95);
}

}  // namespace

PairedEffect paired_effect(std::span<const double> differences, double margin, double dependence) {
  PairedEffect effect;
  effect.pairs = differences.size();
  effect.dependence = dependence;
  const EffectiveSample sample = effective_sample(effect.pairs, dependence);
  effect.n = sample.n;
  const Moments of = moments(differences);
  effect.mean = of.mean;
  effect.deviation = std::sqrt(of.variance) * (effect.drifts() ? 1 : sample.deviation_factor);
  if (effect.pairs > 1) {
    effect.error = effect.deviation / std::sqrt(effect.n);
    effect.freedom = effect.n - 1;
  }
  add_intervals(effect);
  if (effect.pairs < 2) {
    effect.median = effect.mean;
    effect.sign90 = effect.sign95 = {-infinity, infinity};
    return effect;
  }
  add_signs(effect, differences);
  add_equality(effect, differences, skewness(differences, of), margin, t_strictness);
  add_outliers(effect, differences, margin);
  return effect;
}

std::vector<PairedEffect> paired_effects(std::span<const PairedSeries> family, double margin) {
  const std::vector<double> allowed = find_dependence(family);
  std::vector<PairedEffect> effects;
  for (std::size_t i = 0; i < family.size(); ++i) {
    effects.push_back(paired_effect(family[i].differences, margin, allowed[i]));
  }
  return effects;
}

void allow_for_control(PairedEffect& effect, std::span<const double> differences,
                       std::span<const double> control, double margin) {
  if (differences.size() < least_units || control.size() < least_units) return;
  const std::vector<double> distances = distances_from_median(differences);
  const std::vector<double> usual = distances_from_median(control);
  std::erase_if(effect.outliers, [&](std::size_t pair) {
    return distances[pair] <= control_multiple * std::ranges::max(usual);
  });
  effect.outlier_share_limit = share_upper_bound(effect.outliers.size(), differences.size(), 0.95);
  if (median(usual) >= median(distances) / 2) {
    const double corrected = effect.p_equal;
    add_equality(effect, differences, 0, margin, uncorrected_strictness);
    effect.p_equal = std::min(effect.p_equal, corrected);
  }
}

PairedEffect unpaired_effect(std::span<const double> a, std::span<const double> b) {
  PairedEffect effect;
  effect.pairs = std::min(a.size(), b.size());
  effect.n = static_cast<double>(effect.pairs);
  const Moments of_a = moments(a), of_b = moments(b);
  effect.mean = effect.median = of_b.mean - of_a.mean;
  effect.sign90 = effect.sign95 = {-infinity, infinity};
  if (effect.pairs > 1) {
    const double n_a = static_cast<double>(a.size()), n_b = static_cast<double>(b.size());
    const double part_a = of_a.variance / n_a, part_b = of_b.variance / n_b;
    effect.error = std::sqrt(part_a + part_b);
    effect.deviation = std::sqrt(of_a.variance + of_b.variance);
    // The degrees of freedom are those of Welch and Satterthwaite.
    const double below = part_a * part_a / (n_a - 1) + part_b * part_b / (n_b - 1);
    effect.freedom = below > 0 ? effect.error * effect.error * effect.error * effect.error / below
                               : n_a + n_b - 2;
  }
  add_intervals(effect);
  return effect;
}

double t_test(const PairedEffect& effect, Alternative alternative, double bound) {
  if (!(effect.freedom > 0)) return 1;
  const double distance = effect.mean - bound;
  const double toward = alternative == Alternative::different ? std::abs(distance)
                        : alternative == Alternative::above   ? distance
                                                              : -distance;
  const double t = toward / effect.error;  // 0 / 0 is NaN: there is no effect at all
  if (std::isnan(t)) return 1;
  const double tail = student_t_cdf(-t, effect.freedom);
  return alternative == Alternative::different ? std::min(1.0, 2 * tail) : tail;
}

bool precise_enough(const PairedEffect& effect, double margin, double share) {
  const auto narrow = [&](const Interval& interval) {
    return (interval.high - interval.low) / 2 <= share * margin;
  };
  return effect.pairs >= least_units && narrow(effect.t90) && narrow(effect.sign90);
}

std::size_t values_needed(double deviation, double distance) {
  constexpr std::size_t most = 10'000;
  // There are two one-sided tests at 5%, each with 95% power, so 90% together; the sign test needs
  // about 1.6 times as many values as the t test.
  const double normal = 2 * normal_quantile(0.95) * deviation / distance;
  const double values = 1.6 * normal * normal;
  return values < static_cast<double>(most) ? static_cast<std::size_t>(std::ceil(values)) : most;
}

}  // namespace assay
