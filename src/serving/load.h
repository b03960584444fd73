// One point of load: prompts made, sent as planned, and judged.
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

/// What all points of a sweep have in common. From the seed of `prompts` come the prompts and the
/// arrivals, so that every environment gets the same.
struct LoadSettings {
  std::vector<Endpoint> targets;
  LoadPlan plan;           ///< without arrivals and cap
  PromptSettings prompts;  ///< without their number
  double burstiness = 1;
  std::optional<RateRamp> ramp;          ///< instead of a point's rate
  std::optional<double> recorded_speed;  ///< send when the data say, so much faster
  std::size_t warm_up = 0;               ///< requests before those that count
  AnalysisSettings analysis;             ///< without load and client

  /// Of the prompts and all else that is drawn.
  void use_seed(std::uint64_t seed) { prompts.seed = plan.seed = analysis.seed = seed; }
};

/// Of the load `number` of one command: 0 has the command's own. A server that has seen prompts
/// takes them from its prefix cache, so no two loads share a seed, not even those of commands with
/// neighbouring seeds.
std::uint64_t seed_of_load(std::uint64_t seed, std::size_t number);

struct LoadPoint {
  double request_rate = std::numeric_limits<double>::infinity();
  std::size_t max_concurrency = 0;  ///< 0: no cap
  std::size_t requests = 1000;
};

struct LoadReport {
  ServingResult result;
  std::vector<RequestLog> logs;
  LoadClock::time_point begin;          ///< what their times count from; a warm-up is over by then
  std::optional<ServerMetrics> server;  ///< empty: it tells nothing on /metrics
  bool interrupted = false;
};

/// An infinite rate without a cap sends everything at once; with one it is a closed loop. Error:
/// usage, if settings are out of bounds; exhausted, if the machine cannot have so many connections.
Result<LoadReport> run_point(const LoadSettings& settings, const LoadPoint& point,
                             const std::function<bool()>& stop_requested,
                             const std::function<void(const LoadState&)>& progress);

}  // namespace assay
