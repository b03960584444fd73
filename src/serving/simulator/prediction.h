// Compares a whole GPU with its partitions in the model of simulated_engine.h. Not a measurement.
#pragma once

#include <vector>

#include "serving/simulator/deployment.h"

namespace assay::simulator {

/// The requests that both get: same arrivals, all prompts different, all lengths equal.
struct PredictedLoad {
  std::size_t requests = 500;
  std::uint64_t prompt_tokens = 1024, output_tokens = 128;
  std::uint64_t seed = 0;
};

/// Times in seconds.
struct Prediction {
  double rate = 0;  ///< offered, requests/s
  int engines = 1;  ///< 1: the whole GPU
  double requests_per_second = 0, output_tokens_per_second = 0;
  double ttft_p50 = 0, ttft_p99 = 0, tpot_p50 = 0, e2e_p50 = 0, e2e_p99 = 0;
  std::uint64_t preemptions = 0;
};

/// For each rate > 0 predicts the whole GPU, then, if `deployment.parts` > 1, that number of
/// partitions behind a balancer. Error: as from deploy() and run_workload() (workload_run.h).
Result<std::vector<Prediction>> predict(const Deployment& deployment, const PredictedLoad& load,
                                        const std::vector<double>& rates);

}  // namespace assay::simulator
