// Runs one load point, which is one request rate, cap on concurrency and number of requests. It
// makes the prompts, sends them on schedule, computes the metrics and decides whether the run is
// valid.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "serving/client/load_run.h"
#include "serving/results/server_metrics.h"
#include "serving/results/serving_result.h"
#include "serving/workload/arrivals.h"
#include "serving/workload/prompt_settings.h"

namespace assay {

/// What all points of a sweep have in common. Prompts and arrivals both come from the seed of
/// `prompts`, so that every environment gets the same.
struct LoadSettings {
  std::vector<Endpoint> targets;  ///< the servers; `plan.balance` chooses one for each request
  LoadPlan plan;                  ///< run_point() sets its `arrivals` and `max_concurrency`
  PromptSettings prompts;         ///< run_point() sets its `count`
  double burstiness = 1;         ///< see ArrivalSettings: 1 is Poisson, smaller values are burstier
  std::optional<RateRamp> ramp;  ///< if set, it replaces a point's rate
  /// If set, requests arrive at the times in the data set, divided by this factor. It takes
  /// precedence over `ramp` and a point's rate.
  std::optional<double> recorded_speed;
  /// Number of requests that are sent before the measured ones, in a closed loop and with another
  /// seed. They do not count. From a file of prompts they may be some that are measured later.
  std::size_t warm_up = 0;
  AnalysisSettings analysis;  ///< run_point() sets its `load` and `client`

  /// Sets the seed of the prompts and arrivals, of a random choice of servers, and of the
  /// bootstrap.
  void use_seed(std::uint64_t seed) { prompts.seed = plan.seed = analysis.seed = seed; }
};

/// One point of a sweep. Its numbers are totals over all servers.
struct LoadPoint {
  /// Requests per second, where every turn of a conversation counts; infinite: see run_point().
  double request_rate = std::numeric_limits<double>::infinity();
  std::size_t max_concurrency = 0;  ///< upper limit of the requests in flight; 0: no cap
  std::size_t requests = 1000;      ///< number of measured requests, so without the warm-up
};

/// Returns the seed of one run of a load point. Servers cache prefixes of prompts, so that several
/// runs on one server need different prompts. Therefore the seed depends on all arguments: `number`
/// counts passes over a point, or probes, from 0. `pair` is the number of a campaign's pair, 0 if
/// there is none, and `set` counts the runs on the same servers within a pair, from 1. Compared
/// environments pass the same arguments and get the same prompts and arrivals, and so does a
/// command that is run again.
std::uint64_t seed_of_load(std::uint64_t seed, const LoadPoint& point, std::size_t number,
                           std::uint64_t pair, std::uint64_t set = 1);

/// What one load point gave.
struct LoadReport {
  ServingResult result;
  std::vector<RequestLog> logs;  ///< one of each measured request that was sent
  LoadClock::time_point begin;   ///< the logs' times count from here, after any warm-up
  /// All servers together; empty if one of them has no usable /metrics before or after the run.
  std::optional<ServerMetrics> server;
  bool interrupted = false;  ///< `stop_requested` ended the run before all replies had ended
};

/// Runs a load point and analyses it. A finite rate, a ramp or recorded times make an open loop.
/// Otherwise the rate is infinite: with a cap the load is a closed loop, and without one all
/// requests are sent at once. `stop_requested` and `progress` are called ten times a second in this
/// thread. Error: as make_prompts(), arrivals() or recorded_arrivals(), and run_load(); exhausted,
/// if the machine cannot open enough connections; unavailable, if all requests of the warm-up fail.
Result<LoadReport> run_point(const LoadSettings& settings, const LoadPoint& point,
                             const std::function<bool()>& stop_requested,
                             const std::function<void(const LoadState&)>& progress);

}  // namespace assay
