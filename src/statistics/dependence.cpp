#include "statistics/dependence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/random.h"
#include "statistics/summary.h"

namespace assay {
namespace {

constexpr std::size_t permutations = 199;
constexpr double evidence_level = 0.02;
constexpr double most_allowed = 0.98;
/// With fewer values, an autocorrelation is not worth testing.
constexpr std::size_t least_differences = 6;

/// A series with its mean subtracted and its values at the positions of their pairs; missing pairs
/// are empty.
struct Centred {
  std::vector<double> values;
  std::vector<bool> present;
  double squares = 0;
  std::size_t n = 0;
};

double lag_one(const Centred& series, const std::vector<std::size_t>& order) {
  double products = 0, before = 0;
  for (const std::size_t place : order) {
    if (!series.present[place]) continue;
    products += before * series.values[place];
    before = series.values[place];
  }
  return products / series.squares;
}

/// Returns the p of `observed` among the values of the permutations, which include it.
double share_as_large(const std::vector<double>& permuted, double observed) {
  const auto larger = std::count_if(permuted.begin(), permuted.end(),
                                    [&](double value) { return value >= observed; });
  return static_cast<double>(larger + 1) / static_cast<double>(permuted.size() + 1);
}

double without_bias(double estimate, double n) {
  return std::clamp((n * estimate + 1) / (n - 4), 0.0, most_allowed);
}

}  // namespace

EffectiveSample effective_sample(std::size_t n, double rho) {
  const double count = static_cast<double>(n);
  if (rho <= 0 || n < 3) return {count, 1};
  constexpr double least = 1.5;
  const double time = (1 + rho) / (1 - rho);
  const double share = std::min((time - 1) / (count - 1), 0.75);
  return {std::min(count, std::max(count / time, least)), 1 / std::sqrt(1 - share)};
}

std::vector<double> find_dependence(std::span<const PairedSeries> family) {
  std::map<std::size_t, std::size_t> places;  // positions of pairs
  for (const PairedSeries& series : family) {
    for (const std::size_t pair : series.pairs) places.emplace(pair, 0);
  }
  std::size_t count = 0;
  for (auto& [pair, place] : places) place = count++;

  std::vector<double> allowed(family.size(), 0);
  std::vector<Centred> tested;
  std::vector<std::size_t> index;  // index in the family of each entry of `tested`
  for (std::size_t k = 0; k < family.size(); ++k) {
    const PairedSeries& series = family[k];
    // Equal values have no autocorrelation.
    if (series.differences.size() < least_differences || autocorrelation(series.differences) == 0) {
      continue;
    }
    Centred centred{std::vector<double>(count, 0), std::vector<bool>(count, false), 0,
                    series.differences.size()};
    const double middle = mean(series.differences);
    for (std::size_t i = 0; i < series.pairs.size(); ++i) {
      const std::size_t place = places[series.pairs[i]];
      centred.values[place] = series.differences[i] - middle;
      centred.present[place] = true;
      centred.squares += centred.values[place] * centred.values[place];
    }
    tested.push_back(std::move(centred));
    index.push_back(k);
  }
  if (tested.empty()) return allowed;

  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double tests = static_cast<double>(tested.size());
  std::vector<double> own(tested.size());
  double pooled = 0, pooled_n = 0;
  for (std::size_t k = 0; k < tested.size(); ++k) {
    own[k] = lag_one(tested[k], order);
    pooled += own[k] / tests;
    pooled_n += static_cast<double>(tested[k].n) / tests;
  }
  // The permutations of a single series have a deviation of about 1 / sqrt(n). An estimate less
  // than one deviation above their mean is never evidence at this level, so they need not be made.
  if (tested.size() == 1 && pooled < 1 / std::sqrt(pooled_n) - 1 / pooled_n) return allowed;
  std::vector<double> means, largest;
  Random random(1);
  for (std::size_t permutation = 0; permutation < permutations; ++permutation) {
    for (std::size_t i = count; i > 1; --i) {  // Fisher and Yates
      std::swap(order[i - 1],
                order[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
    }
    double sum = 0, most_of_all = -1;
    for (const Centred& series : tested) {
      const double one = lag_one(series, order);
      sum += one;
      most_of_all = std::max(most_of_all, one);
    }
    means.push_back(sum / tests);
    largest.push_back(most_of_all);
  }
  const bool all_depend = share_as_large(means, pooled) <= evidence_level;
  for (std::size_t k = 0; k < tested.size(); ++k) {
    double& value = allowed[index[k]];
    if (all_depend) value = without_bias(pooled, pooled_n);
    if (share_as_large(largest, own[k]) <= evidence_level) {
      value = std::max(value, without_bias(own[k], static_cast<double>(tested[k].n)));
    }
  }
  return allowed;
}

}  // namespace assay
