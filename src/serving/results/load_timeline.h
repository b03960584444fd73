// A load as a timeline: each request with its wait, prefill and tokens, beside the steps of servers
// that tell them. Requests are ranges on the host's lanes; what a server's device computed is a
// kernel of that server's GPU, so that `assay trace read` says how long it was idle, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "results/timeline/timeline.h"
#include "serving/results/request_log.h"

namespace assay {

class LoadTimeline {
 public:
  /// `epoch`: the timeline's time 0, in ns since 1970.
  explicit LoadTimeline(std::int64_t epoch);

  /// Adds a load's requests under a range named `label`. `begin`: the logs' time 0, in ns since
  /// 1970.
  void add_requests(const std::vector<RequestLog>& logs, std::int64_t begin,
                    std::string_view label);
  /// Adds the steps of a server's page /steps that end at or after `from`, in ns since 1970.
  /// `server`: its number, from 0; `url`: as shown to people. Error: usage, if the page is not as
  /// server::StepLog::json() (serving/server/step_log.h) writes it.
  Status add_steps(std::string_view page, std::size_t server, std::string_view url,
                   std::int64_t from);
  void note(std::string_view sentence) { timeline_.note(sentence); }

  /// Returns the timeline with its counters.
  Timeline finish() &&;

 private:
  void add(LaneId lane, TraceEventKind kind, std::string_view name, std::int64_t start,
           std::int64_t end, std::uint64_t correlation = no_number);
  void add_tokens(LaneId lane, const RequestLog& log, std::int64_t begin);

  Timeline timeline_;
  const LaneId loads_, requests_;
  TraceCounter in_flight_{"requests in flight", "1", {}};
  std::vector<TraceCounter> of_servers_;
  std::size_t tokens_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace assay
