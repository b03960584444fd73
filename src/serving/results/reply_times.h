// The latencies of one request by vLLM's definitions, in seconds; only for requests that succeeded.
#pragma once

#include <algorithm>

#include "serving/results/request_log.h"

namespace assay {

inline double ttft_of(const RequestLog& log) {
  return log.first - log.sent;
}
/// Until the last token: the usage and the end mark that follow it do not count.
inline double e2el_of(const RequestLog& log) {
  return log.last - log.sent;
}
/// Per token after the first; 0 with fewer than two.
inline double tpot_of(const RequestLog& log) {
  if (log.output_tokens < 2) return 0;
  return (log.last - log.first) / static_cast<double>(log.output_tokens - 1);
}
/// The sum of its gaps, which is the time from the first token to the last.
inline double gap_seconds(const RequestLog& log) {
  double seconds = 0;
  for (const float gap : log.gaps) seconds += static_cast<double>(gap);
  return seconds;
}
/// When it was no longer in flight, seconds of the run: its reply was whole or its error known.
inline double end_of(const RequestLog& log) {
  return std::max({log.sent, log.last, log.end});
}

}  // namespace assay
