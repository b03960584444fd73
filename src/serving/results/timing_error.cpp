#include "serving/results/timing_error.h"

#include <algorithm>
#include <cmath>

#include "serving/results/reply_times.h"

namespace assay {
namespace {

/// The 99th percentile by rank, without sorting millions.
double upper_percentile(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::ptrdiff_t>(0.99 * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<std::size_t>(rank)];
}

}  // namespace

TimingError timing_error(const std::vector<RequestLog>& logs, double ttft, double itl) {
  std::vector<double> ttfts, itls;
  for (const RequestLog& log : logs) {
    if (!log.succeeded()) continue;
    ttfts.push_back(std::abs(ttft_of(log) - ttft));
    for (const float gap : log.gaps) itls.push_back(std::abs(static_cast<double>(gap) - itl));
  }
  return {upper_percentile(ttfts), upper_percentile(itls)};
}

}  // namespace assay
