// The Prometheus text format, version 0.0.4, as servers return on /metrics. It is untrusted input.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay {

/// A line of Prometheus's text format.
struct PrometheusSample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;  ///< names and values
  double value = 0;                                         ///< may be infinite or not a number

  /// Null if it has no such label.
  const std::string* label(std::string_view key) const;
};

/// A histogram of counters, or of differences between counters.
struct Histogram {
  double sum = 0, count = 0;
  std::map<double, double> buckets;  ///< cumulative count by upper bound; the last is infinite

  /// 0 if the count is 0.
  double mean() const { return count > 0 ? sum / count : 0; }
  /// Prometheus' estimate: values spread evenly within a bucket, and the highest finite bound for
  /// values above it. 0 < q < 1; empty if the buckets are empty.
  std::optional<double> quantile(double q) const;
};

/// One response of /metrics.
class Scrape {
 public:
  /// Error: usage, "line N: ...", if it is not that format, has more than 64 MiB or a million
  /// samples, or one with more than 64 labels.
  static Result<Scrape> parse(std::string_view text);

  /// Returns whether the name of any sample begins with `prefix`.
  bool has_prefix(std::string_view prefix) const;
  /// The sum over all finite samples of that name and any labels (engines, ranks, models). Empty if
  /// there is none.
  std::optional<double> sum(std::string_view name) const;
  /// The sums of NAME_sum, NAME_count and, per bound, NAME_bucket. Empty if there is no
  /// NAME_count.
  std::optional<Histogram> histogram(std::string_view name) const;

  const std::vector<PrometheusSample>& samples() const { return samples_; }

 private:
  std::vector<PrometheusSample> samples_;
};

}  // namespace assay
