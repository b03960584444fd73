// The Prometheus text format, version 0.0.4, as servers answer on /metrics. Nothing in it is
// trusted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay {

struct PrometheusSample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;  ///< may be infinite or not a number

  /// Null if it has no such label.
  const std::string* label(std::string_view key) const;
};

/// A histogram, of which counters and differences of counters are made alike.
struct Histogram {
  double sum = 0, count = 0;
  std::map<double, double> buckets;  ///< upper bound to how many are no larger; the last infinite

  /// 0 if it counts nothing.
  double mean() const { return count > 0 ? sum / count : 0; }
  /// As Prometheus estimates it: equally spread within a bucket, and the highest finite bound for
  /// what is beyond it. 0 < q < 1; empty if there is nothing in its buckets.
  std::optional<double> quantile(double q) const;
};

/// One answer of /metrics.
class Scrape {
 public:
  /// Error: usage, "line N: ...", if it is not that format, has more than 64 MiB or a million
  /// samples, or one with more than 64 labels.
  static Result<Scrape> parse(std::string_view text);

  /// Whether the name of any sample begins like that.
  bool has_prefix(std::string_view prefix) const;
  /// The sum over all samples of that name, whatever their labels: engines, ranks, models. Empty if
  /// there is none that is a number.
  std::optional<double> sum(std::string_view name) const;
  /// The same of NAME_sum, NAME_count and, by their bounds, NAME_bucket. Empty if there is no
  /// count.
  std::optional<Histogram> histogram(std::string_view name) const;

  const std::vector<PrometheusSample>& samples() const { return samples_; }

 private:
  std::vector<PrometheusSample> samples_;
};

}  // namespace assay
