// One load point: makes the prompts, sends them as planned and judges the run.
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
  std::vector<Endpoint> targets;
  LoadPlan plan;           ///< without arrivals and cap
  PromptSettings prompts;  ///< without their number
  double burstiness = 1;
  std::optional<RateRamp> ramp;          ///< instead of a point's rate
  std::optional<double> recorded_speed;  ///< send at the recorded times, this many times as fast
  std::size_t warm_up = 0;               ///< requests before the measured ones
  AnalysisSettings analysis;             ///< without load and client

  /// Sets the seed of the prompts and of everything else that is random.
  void use_seed(std::uint64_t seed) { prompts.seed = plan.seed = analysis.seed = seed; }
};

struct LoadPoint {
  double request_rate = std::numeric_limits<double>::infinity();
  std::size_t max_concurrency = 0;  ///< 0: no cap
  std::size_t requests = 1000;
};

/// The seed of one load of a command. A server serves prompts it has seen from its prefix cache, so
/// no two loads share a seed: not those of commands with other seeds, nor other points, nor passes
/// over a point (`number`), nor pairs of a campaign (`pair`, 0: none), nor loads on the same
/// servers within a pair (`set`, from 1). In compared environments all of these are the same, and
/// so is the load.
std::uint64_t seed_of_load(std::uint64_t seed, const LoadPoint& point, std::size_t number,
                           std::uint64_t pair, std::uint64_t set = 1);

struct LoadReport {
  ServingResult result;
  std::vector<RequestLog> logs;
  LoadClock::time_point begin;          ///< the logs' times count from here, after any warm-up
  std::optional<ServerMetrics> server;  ///< empty: the server has no usable /metrics
  bool interrupted = false;
};

/// An infinite rate without a cap sends everything at once; with one it is a closed loop. Error:
/// usage, if settings are out of bounds; exhausted, if the machine cannot open enough connections.
Result<LoadReport> run_point(const LoadSettings& settings, const LoadPoint& point,
                             const std::function<bool()>& stop_requested,
                             const std::function<void(const LoadState&)>& progress);

}  // namespace assay
