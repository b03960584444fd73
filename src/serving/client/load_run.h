// Sends requests as planned and logs what becomes of each. One thread, one event loop: what is late
// is then late for one reason, and can be measured.
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

struct LoadPlan {
  /// Seconds after the beginning at which each conversation begins: an open loop, which sends
  /// whatever the servers do. Empty: a closed loop, which sends when a reply has come.
  std::vector<double> arrivals;
  std::size_t max_concurrency = 0;  ///< requests in flight at most; 0: any number
  double ramp_seconds = 0;          ///< over which a closed loop's first requests are spread
  double silence_seconds = 600;     ///< for so long a server may say nothing within a reply
  double send_seconds = 0;          ///< nothing is sent after that; 0: no end
  Balance balance = Balance::least;
  std::uint64_t seed = 0;  ///< of Balance::random
  RequestOptions request;
  std::string fields;  ///< of HTTP, lines "Name: value\r\n"
};

/// How far a run is.
struct LoadState {
  double seconds = 0;
  std::size_t total = 0, sent = 0, ended = 0, failed = 0, in_flight = 0;
  std::uint64_t events = 0;  ///< of streams, so far
  double last_ttft = -1;     ///< of the reply that began last; negative: none
};

struct LoadOutcome {
  std::vector<RequestLog> logs;  ///< of what was sent, in the order of the prompts
  ClientHealth health;
  LoadClock::time_point begin;  ///< what the logs' times count from
  bool interrupted = false;
};

/// Returns when all replies have ended. `stop_requested` is asked and `progress` told ten times a
/// second. Error: usage if there is nothing to send or nowhere to send it.
Result<LoadOutcome> run_load(const LoadPlan& plan, const Prompts& prompts,
                             const std::vector<Endpoint>& targets,
                             const std::function<bool()>& stop_requested,
                             const std::function<void(const LoadState&)>& progress);

}  // namespace assay
