// Simulates continuous batching on a GPU by discrete events: the scheduler of real servers decides,
// and a formula gives the time of each step. It is deterministic for a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/random.h"
#include "serving/server/scheduler.h"
#include "serving/simulator/capacity.h"
#include "serving/simulator/measured_times.h"
#include "serving/simulator/use_server_namespace.h"

namespace assay::simulator {

struct EngineSettings {
  Model model;
  Hardware hardware;
  /// If set, times come from here, not from `model` and `hardware`, but for the launch's.
  std::optional<MeasuredTimes> measured;
  SchedulerSettings scheduler;
  double jitter = 0;  ///< sigma of a lognormal factor with mean 1 on the time of each step
  std::uint64_t seed = 0;
};

/// A step as it is at its end.
struct Step {
  double seconds = 0;
  std::vector<YieldedToken> tokens;      ///< tokens that it produced
  std::vector<std::uint64_t> started;    ///< requests that left the queue for the first time
  std::vector<std::uint64_t> preempted;  ///< requests that went back to the front of the queue
};

class Engine {
 public:
  explicit Engine(const EngineSettings& settings)
      : settings_(settings), scheduler_(settings.scheduler), random_(settings.seed) {}

  /// Computes a step; call it only if the scheduler is not idle. Afterwards the engine is in the
  /// state at the step's end, which is `seconds` later.
  Step step();
  Scheduler& scheduler() { return scheduler_; }

 private:
  double seconds_of(StepWork work) const;

  EngineSettings settings_;
  Scheduler scheduler_;
  Random random_;
};

}  // namespace assay::simulator
