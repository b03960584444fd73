#include "serving/results/latency.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"
#include "statistics/distributions.h"
#include "statistics/slope.h"

namespace assay {
namespace {

Interval around(double value, double margin) {
  return {value - margin, value + margin};
}

/// Widens the interval to hold `value`, which interpolation and resampling may leave just outside.
Interval holding(Interval interval, double value) {
  return {std::min(interval.low, value), std::max(interval.high, value)};
}

/// Everything but intervals, whose ends are the values themselves.
Latency without_intervals(std::span<const double> sorted, std::span<const double> percents) {
  Latency latency;
  latency.n = sorted.size();
  latency.mean = mean(sorted);
  latency.mean95 = around(latency.mean, 0);
  latency.deviation = population_deviation(sorted);
  const auto value_at = [&](double share) { return sorted.empty() ? 0 : quantile(sorted, share); };
  latency.median = value_at(0.5);
  latency.median95 = around(latency.median, 0);
  latency.maximum = value_at(1);
  for (const double percent : percents) {
    const double value = value_at(percent / 100);
    latency.percentiles.push_back({percent, value, around(value, 0)});
  }
  return latency;
}

/// What a bootstrap over replies needs from each reply: the number of gaps, their sum, and how many
/// are at most each threshold.
class ReplyCounts {
 public:
  ReplyCounts(std::span<const ReplyGaps> replies, std::span<const double> thresholds)
      : width_(thresholds.size() + 2), replies_(replies.size()) {
    counts_.resize(width_ * replies_);
    for (std::size_t r = 0; r < replies_; ++r) {
      double* row = counts_.data() + r * width_;
      row[0] = static_cast<double>(replies[r].seconds.size());
      for (const float gap : replies[r].seconds) {
        const double seconds = static_cast<double>(gap) * replies[r].scale;
        row[1] += seconds;
        for (std::size_t t = 0; t < thresholds.size(); ++t) row[t + 2] += seconds <= thresholds[t];
      }
    }
  }

  std::size_t columns() const { return width_ - 1; }
  /// The mean gap, then the share below each threshold.
  std::vector<double> all() const {
    std::vector<double> sums(width_);
    for (std::size_t r = 0; r < replies_; ++r) add(r, sums);
    return shares(sums);
  }
  /// all() of as many replies, drawn with replacement.
  std::vector<double> drawn(Random& random) const {
    std::vector<double> sums(width_);
    for (std::size_t i = 0; i < replies_; ++i) {
      add(static_cast<std::size_t>(random.uniform() * static_cast<double>(replies_)), sums);
    }
    return shares(sums);
  }

 private:
  void add(std::size_t reply, std::vector<double>& sums) const {
    const double* row = counts_.data() + reply * width_;
    for (std::size_t i = 0; i < width_; ++i) sums[i] += row[i];
  }
  std::vector<double> shares(const std::vector<double>& sums) const {
    std::vector<double> shares;
    for (std::size_t i = 1; i < width_; ++i) shares.push_back(sums[i] / sums[0]);
    return shares;
  }

  std::size_t width_, replies_;
  std::vector<double> counts_;  // row by row
};

/// For each column, the interval that holds 95% of the resamples' deviations from the full data.
std::vector<Interval> deviations_of(const ReplyCounts& counts, std::uint64_t seed,
                                    std::size_t resamples) {
  Random random(seed);
  const std::vector<double> whole = counts.all();
  std::vector<std::vector<double>> deviations(counts.columns());
  for (std::size_t b = 0; b < resamples; ++b) {
    const std::vector<double> drawn = counts.drawn(random);
    for (std::size_t c = 0; c < drawn.size(); ++c) deviations[c].push_back(drawn[c] - whole[c]);
  }
  std::vector<Interval> intervals;
  for (std::vector<double>& column : deviations) {
    std::sort(column.begin(), column.end());
    intervals.push_back({quantile(column, 0.025), quantile(column, 0.975)});
  }
  return intervals;
}

/// Whether the values rise or fall over the run by more than chance would make them, and by enough
/// to matter.
bool has_trend(const std::vector<double>& values) {
  constexpr std::size_t enough = 20;
  constexpr double clear = 0.5;        // four standard errors
  constexpr double negligible = 0.02;  // share of the mean, from the first to the last
  if (values.size() < enough) return false;
  std::vector<double> order(values.size());
  std::iota(order.begin(), order.end(), 0.0);
  const auto slope = slope_of(order, values);
  if (!slope || slope->margin95 >= clear * std::abs(slope->value)) return false;
  return std::abs(slope->value) * order.back() > negligible * mean(values);
}

/// `effective`: how many independent values they are worth.
std::optional<Interval> mean_interval(const std::vector<double>& values, double mean,
                                      double effective) {
  constexpr double enough = 10;
  const double least = std::min(enough, static_cast<double>(values.size()) / 2);
  if (effective < least || has_trend(values)) return std::nullopt;
  const double error = sample_deviation(values) / std::sqrt(effective);
  const double freedom = std::max(1.0, effective - 1);
  Interval interval = around(mean, student_t_quantile(0.975, freedom) * error);
  interval.low = std::max(interval.low, 0.0);  // no time is negative
  return interval;
}

}  // namespace

const Percentile* Latency::percentile(double percent) const {
  for (const Percentile& candidate : percentiles) {
    if (candidate.percent == percent) return &candidate;
  }
  return nullptr;
}

Latency latency_of(const std::vector<double>& values, std::span<const double> percents) {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  Latency latency = without_intervals(sorted, percents);
  if (values.size() < 2) return latency;
  const double effective = effective_count(values.size(), autocorrelation(values));
  latency.mean95 = mean_interval(values, latency.mean, effective);
  const auto interval_of = [&](double share, double value) {
    return holding(quantile_interval(sorted, share, 0.95, effective), value);
  };
  latency.median95 = interval_of(0.5, latency.median);
  for (Percentile& percentile : latency.percentiles) {
    percentile.interval95 = interval_of(percentile.percent / 100, percentile.value);
  }
  return latency;
}

Latency pooled_latency_of(std::vector<ReplyGaps> replies, std::span<const double> percents,
                          std::uint64_t seed, std::size_t resamples) {
  constexpr std::size_t most_draws = 20'000'000;
  std::erase_if(replies, [](const ReplyGaps& reply) { return reply.seconds.empty(); });
  std::vector<double> sorted;
  std::size_t gaps = 0;
  for (const ReplyGaps& reply : replies) gaps += reply.seconds.size();
  sorted.reserve(gaps);
  for (const ReplyGaps& reply : replies) {
    for (const float gap : reply.seconds) sorted.push_back(static_cast<double>(gap) * reply.scale);
  }
  std::sort(sorted.begin(), sorted.end());
  Latency latency = without_intervals(sorted, percents);
  if (sorted.empty() || replies.size() < 2) return latency;
  resamples = std::min(resamples, std::max<std::size_t>(100, most_draws / replies.size()));
  if (resamples == 0) return latency;

  std::vector<double> shares = {0.5}, thresholds = {latency.median};
  for (const Percentile& percentile : latency.percentiles) {
    shares.push_back(percentile.percent / 100);
    thresholds.push_back(percentile.value);
  }
  const auto deviations = deviations_of(ReplyCounts(replies, thresholds), seed, resamples);
  latency.mean95 =
      holding({latency.mean + deviations[0].low, latency.mean + deviations[0].high}, latency.mean);
  const auto interval_at = [&](std::size_t i) {
    const auto value_at = [&](double deviation) {
      return quantile(sorted, std::clamp(shares[i] + deviation, 0.0, 1.0));
    };
    const Interval& deviation = deviations[i + 1];
    return holding({value_at(deviation.low), value_at(deviation.high)}, thresholds[i]);
  };
  latency.median95 = interval_at(0);
  for (std::size_t i = 0; i < latency.percentiles.size(); ++i) {
    latency.percentiles[i].interval95 = interval_at(i + 1);
  }
  return latency;
}

}  // namespace assay
