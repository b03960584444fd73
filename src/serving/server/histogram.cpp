#include "serving/server/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::server {

void Histogram::observe(double value) {
  ++counts_[static_cast<std::size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) -
                                     bounds_.begin())];
  sum_ += value;
}

void Histogram::append(std::string_view name, std::string_view help, std::string_view labels,
                       std::string& page) const {
  page += fmt::format("# HELP {0} {1}\n# TYPE {0} histogram\n", name, help);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf";
    page += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bound, below);
  }
  page += fmt::format("{0}_sum{{{1}}} {2}\n{0}_count{{{1}}} {3}\n", name, labels, sum_, below);
}

void LagRecord::observe(double seconds) {
  largest_ = std::max(largest_, seconds);
  ++count_;
  const double octaves = std::log2(std::max(seconds, least) / least);
  ++counts_[std::min(counts_.size() - 1, static_cast<std::size_t>(octaves * per_octave))];
}

double LagRecord::quantile(double q) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(q * static_cast<double>(count_));
  std::uint64_t below = 0;
  std::size_t bucket = 0;
  while (bucket + 1 < counts_.size() && (below += counts_[bucket]) <= rank) ++bucket;
  return std::min(largest_, least * std::exp2(static_cast<double>(bucket + 1) / per_octave));
}

}  // namespace assay::server
