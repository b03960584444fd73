// The result of a load run. Times are in seconds, rates per second. Metrics that vLLM has follow
// the definitions of `vllm bench serve`, so that the numbers are comparable.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "serving/results/client_health.h"
#include "serving/results/latency.h"
#include "serving/results/request_log.h"
#include "serving/results/token_times.h"

namespace assay {

/// The most seconds a reply may take to count as good. Empty: no limit.
struct GoodputLimits {
  std::optional<double> ttft, tpot, itl, e2el;  ///< `itl`: the reply's mean

  bool any() const { return ttft || tpot || itl || e2el; }
};

/// How requests were meant to be sent.
struct OfferedLoad {
  /// Requests per second; the mean for a ramp or a recorded trace. Infinite: all at once or, with a
  /// cap, a closed loop.
  double request_rate = std::numeric_limits<double>::infinity();
  double burstiness = 1;                       ///< 1/CV^2 of the gaps between arrivals
  std::optional<std::size_t> max_concurrency;  ///< the cap on requests in flight; empty: none
  std::size_t num_prompts = 0;

  bool is_open_loop() const { return std::isfinite(request_rate); }
};

/// The intended load, the client's health and what to compute.
struct AnalysisSettings {
  OfferedLoad load;
  ClientHealth client;
  std::vector<double> percents = {50, 90, 95, 99};  ///< 99 is always added
  GoodputLimits goodput;
  std::uint64_t seed = 0;        ///< seed of the bootstrap
  std::size_t resamples = 1000;  ///< upper limit of the resamples of the bootstrap
  double most_spoilt = 0.01;     ///< share of replies that may be empty or short
};

/// How many requests ended in which way.
struct RequestCounts {
  std::size_t requests = 0;                ///< all that were sent
  std::size_t completed = 0;               ///< complete and with at least one token
  std::size_t empty = 0;                   ///< complete but without any token
  std::size_t failed = 0;                  ///< all others
  std::array<std::size_t, 7> by_end = {};  ///< number of requests for each ReplyEnd
  /// First error of the requests with each ReplyEnd; secrets are hidden.
  std::array<std::string, 7> first_error;
  std::size_t short_replies = 0;  ///< completed with fewer tokens than asked for
  std::size_t wrong_prompts = 0;  ///< the server counted a different prompt length
  std::size_t uncounted = 0;      ///< completed, but the server did not say how many tokens
  std::uint64_t input_tokens = 0, output_tokens = 0;  ///< tokens of the completed requests

  std::size_t ended(ReplyEnd end) const { return by_end[static_cast<std::size_t>(end)]; }
};

/// Statistics of a quantity of which only the upper tail matters.
struct Tail {
  double median = 0, p99 = 0, maximum = 0;
};

/// The run without its ramp and its drain. Its latencies cover the requests sent within it.
struct SteadyState {
  double begin = 0, end = 0;  ///< seconds of the run
  std::size_t requests = 0;   ///< sent within it and completed
  double request_throughput =
      0;  ///< replies received within it; one received in part counts in part
  double output_throughput = 0;  ///< tokens received within it
  Latency ttft, tpot;
};

/// Little's law: the mean number in flight equals throughput times time in the system. The two
/// sides are measured independently: the left is the client's own count, updated as requests are
/// sent and end; the right comes from the logs, completed replies until their last token. Missing
/// or duplicate logs, wrong times, failures and slow ends make the two differ.
struct LittlesLaw {
  double in_flight = 0;   ///< mean over the duration
  double predicted = 0;   ///< request throughput times mean E2EL
  double difference = 0;  ///< (predicted - in_flight) over the larger of the two
};

/// Whether the server kept up with what was offered. The optionals are empty in a closed loop, and
/// the slopes where there are too few requests.
struct Saturation {
  bool saturated = false;
  std::optional<double> achieved_share;   ///< achieved rate over the offered rate
  std::optional<double> in_flight_slope;  ///< growth of requests in flight, per second
  std::optional<double> ttft_slope;       ///< growth of TTFT, seconds per second
  std::string sentence;                   ///< says all this to people
};

/// What one of several servers did.
struct TargetResult {
  int target = 0;  ///< its number, from 0
  std::size_t requests = 0, completed = 0;
  double mean_ttft = 0, mean_e2el = 0;
};

/// What of a run's numbers does not hold, and why.
struct RunVerdict {
  std::vector<std::string> client_reasons;  ///< why the client, not the servers, voids the run
  std::vector<std::string> server_reasons;  ///< why the servers' replies void it
  /// Why times that count from the sending are void, though the run is not: requests were sent
  /// late. Times between tokens are not touched, and throughput only in a closed loop. Empty: they
  /// hold.
  std::string late;
  TokenDoubts doubts;  ///< why what is known of tokens is void, though the run is not
  std::vector<std::string> warnings;  ///< sentences about what to doubt; they void nothing

  bool valid() const { return client_reasons.empty() && server_reasons.empty(); }
  /// All reasons that void the run, the client's first.
  std::vector<std::string> void_reasons() const {
    std::vector<std::string> all = client_reasons;
    all.insert(all.end(), server_reasons.begin(), server_reasons.end());
    return all;
  }
  /// All reasons why a part of the values is void.
  std::vector<std::string> reasons_in_part() const {
    std::vector<std::string> all;
    for (const std::string& reason : {late, doubts.counts, doubts.gaps}) {
      if (!reason.empty()) all.push_back(reason);
    }
    return all;
  }
  bool tokens_hold() const { return doubts.counts.empty(); }
  bool gaps_hold() const { return tokens_hold() && doubts.gaps.empty(); }
};

struct ServingResult {
  OfferedLoad load;
  RequestCounts counts;
  double duration = 0;            ///< from the first dispatch until all were done
  double request_throughput = 0;  ///< completed requests
  double output_throughput = 0;   ///< output tokens of completed requests
  double total_throughput = 0;    ///< input and output tokens of completed requests
  std::optional<double> goodput;  ///< rate of requests that met every limit; empty: no limits given
  bool goodput_of_gaps = false;   ///< a limit is of TPOT or ITL
  Latency ttft, tpot, e2el;       ///< from when a request was sent
  Latency itl;                    ///< pooled gaps between token events
  std::optional<Latency> itl_per_token;    ///< if some events hold several tokens by the server's
                                           ///< count: gaps over the reply's mean tokens per event
  Latency ttft_scheduled, e2el_scheduled;  ///< from when it should have been sent: coordinated
                                           ///< omission corrected
  Tail queue_time;                    ///< from the scheduled time until the request could be sent
  Tail send_lag;                      ///< from when it could be sent until it was
  std::size_t late_sends = 0;         ///< requests with a lag above `late_limit`
  double late_limit = 0;              ///< seconds: 1 ms, or 5% of the median TTFT if that is more
  Tail longest_stall;                 ///< over the longest gap of each reply
  double most_output_per_second = 0;  ///< token events in one second
  std::size_t most_concurrent = 0;    ///< in flight at once, of those that succeeded, as in vLLM
  std::optional<SteadyState> steady;
  std::string no_steady;             ///< why there is no steady state
  std::optional<LittlesLaw> little;  ///< empty: the client did not count
  double identity_error = 0;         ///< seconds, largest |E2EL - TTFT - sum of the reply's gaps|
  Saturation saturation;
  std::vector<TargetResult> targets;  ///< indexed by the target's number
  double imbalance = 1;               ///< requests of the busiest target over the mean
  ClientHealth client;
  RunVerdict verdict;
};

}  // namespace assay
