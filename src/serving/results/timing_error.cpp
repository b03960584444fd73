#include "serving/results/timing_error.h"

#include <algorithm>
#include <cmath>

#include "serving/results/reply_times.h"

namespace assay {
namespace {

/// The 99th percentile by rank, without a full sort of millions of values.
double upper_percentile(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::ptrdiff_t>(0.99 * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<std::size_t>(rank)];
}

}  // namespace

TimingError planned_error(const std::vector<RequestLog>& logs, double ttft, double itl) {
  std::vector<double> ttfts, itls;
  for (const RequestLog& log : logs) {
    if (!log.succeeded()) continue;
    ttfts.push_back(std::abs(ttft_of(log) - ttft));
    for (const float gap : log.gaps) itls.push_back(std::abs(static_cast<double>(gap) - itl));
  }
  return {upper_percentile(ttfts), upper_percentile(itls)};
}

std::optional<TimingError> client_error(const std::vector<RequestLog>& logs) {
  std::vector<double> ttfts, itls;
  for (const RequestLog& log : logs) {
    if (!log.succeeded()) continue;
    if (log.delays.size() != log.gaps.size() + 1) return std::nullopt;
    // A delay common to both ends of a gap cancels.
    ttfts.push_back(std::abs(static_cast<double>(log.delays[0])));
    for (std::size_t i = 1; i < log.delays.size(); ++i) {
      itls.push_back(std::abs(static_cast<double>(log.delays[i]) - log.delays[i - 1]));
    }
  }
  if (ttfts.empty()) return std::nullopt;
  return TimingError{upper_percentile(ttfts), upper_percentile(itls)};
}

}  // namespace assay
