// Logs of requests, for tests of the results that are computed from them.
#pragma once

#include <vector>

#include "serving/results/request_log.h"

namespace assay {

/// A reply of 1 + gaps.size() events, all of one token by the server's count.
inline RequestLog reply(std::size_t index, double sent, double ttft, std::vector<float> gaps) {
  RequestLog log;
  log.index = index;
  log.scheduled = log.due = log.sent = sent;
  log.first = log.last = sent + ttft;
  for (const float gap : gaps) log.last += static_cast<double>(gap);
  log.end = log.last;
  log.output_tokens = log.output_asked = 1 + gaps.size();
  log.gaps = std::move(gaps);
  log.prompt_tokens = log.prompt_asked = 10;
  log.counted = true;
  log.status = 200;
  log.reply_end = ReplyEnd::complete;
  return log;
}

inline RequestLog failure(std::size_t index, double sent, double end, ReplyEnd how) {
  RequestLog log;
  log.index = index;
  log.scheduled = log.due = log.sent = sent;
  log.end = end;
  log.reply_end = how;
  return log;
}

/// An open loop of `n` equal replies, `rate` per second: TTFT 0.25 s, then 3 gaps of 0.25 s.
inline std::vector<RequestLog> steady_logs(std::size_t n, double rate) {
  std::vector<RequestLog> logs;
  for (std::size_t i = 0; i < n; ++i) {
    logs.push_back(reply(i, static_cast<double>(i) / rate, 0.25, {0.25f, 0.25f, 0.25f}));
  }
  return logs;
}

}  // namespace assay
