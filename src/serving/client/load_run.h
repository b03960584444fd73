// Sends requests as planned and logs the outcome of each. One thread runs one event loop, so
// lateness has a single cause and can be measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "serving/client/api.h"
#include "serving/client/balancer.h"
#include "serving/client/endpoint.h"
#include "serving/client/stamped_socket.h"
#include "serving/results/client_health.h"
#include "serving/results/request_log.h"
#include "serving/workload/prompt.h"

namespace assay {

/// How and when the prompts are sent.
struct LoadPlan {
  /// When each conversation begins, in seconds after the start: an open loop, which sends
  /// regardless of the servers' replies. Conversations beyond the last time are not sent. Empty: a
  /// closed loop, which sends when a reply has ended.
  std::vector<double> arrivals;
  std::size_t max_concurrency = 0;  ///< requests in flight at most; 0: any number, in an open loop
  double ramp_seconds = 0;          ///< time over which a closed loop's first requests are spread
  double silence_seconds = 600;     ///< how long a server may send no part of a reply
  double request_seconds = 3600;    ///< how long a request may take in all
  double send_seconds = 0;          ///< no request is sent after this time; 0: no limit
  Balance balance = Balance::least;
  std::uint64_t seed = 0;  ///< for Balance::random, and for the ramp
  /// Tokens that servers add to every prompt by a chat's template: RequestLog::prompt_asked has
  /// them.
  std::uint64_t template_tokens = 0;
  RequestOptions request;
  std::string fields;  ///< extra HTTP header lines, "Name: value\r\n"
};

/// Progress of a run. `total` counts all prompts, also those that a limit keeps from being sent.
struct LoadState {
  double seconds = 0;                                                     ///< since the start
  std::size_t total = 0, sent = 0, ended = 0, failed = 0, in_flight = 0;  ///< requests
  std::uint64_t events = 0;                                               ///< stream events so far
  double last_ttft = -1;  ///< TTFT of the reply with a token that ended last; negative: none yet
};

struct LoadOutcome {
  std::vector<RequestLog> logs;  ///< one for each request sent, in the order of the prompts
  ClientHealth health;
  LoadClock::time_point begin;  ///< the logs' times count from here
  bool interrupted = false;     ///< a stop was requested
};

/// Returns when all replies have ended or are given up, also because a stop was requested.
/// `stop_requested` and `progress`, both of which may be empty, are called ten times a second in
/// this thread, the former also while requests and connections are prepared before the start.
/// Error: usage if there is nothing to send or nowhere to send it, or a closed loop has no
/// max_concurrency.
Result<LoadOutcome> run_load(const LoadPlan& plan, const Prompts& prompts,
                             const std::vector<Endpoint>& targets,
                             const std::function<bool()>& stop_requested,
                             const std::function<void(const LoadState&)>& progress);

}  // namespace assay
