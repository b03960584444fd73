// Histograms in Prometheus' format, and quantiles of a lag.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::server {

class Histogram {
 public:
  /// `bounds` must ascend and outlive the histogram.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  void observe(double value);
  /// Appends # HELP, # TYPE and the samples; `labels` as within the braces.
  void append(std::string_view name, std::string_view help, std::string_view labels,
              std::string& page) const;

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;  // per bucket, not cumulative; the last one has no bound
  double sum_ = 0;
};

/// Records a value that spans many orders of magnitude: quantiles from 1 us to a minute within 9%,
/// the maximum exactly.
class LagRecord {
 public:
  void observe(double seconds);
  /// 0 <= q < 1; 0 if there is nothing.
  double quantile(double q) const;
  double largest() const { return largest_; }
  std::uint64_t count() const { return count_; }

 private:
  static constexpr double least = 1e-6;  // smaller values count as this
  static constexpr std::size_t per_octave = 8;
  std::array<std::uint64_t, 26 * per_octave> counts_{};  // up to a minute
  std::uint64_t count_ = 0;
  double largest_ = 0;
};

}  // namespace assay::server
