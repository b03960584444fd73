// Turns what the user asks for, a model on a GPU or on its partitions, into engine settings.
#pragma once

#include "serving/simulator/simulated_engine.h"

namespace assay::simulator {

struct Deployment {
  Model model;
  Gpu gpu;
  int parts = 1;             ///< number of partitions of the GPU, each with its own server
  double utilization = 0.9;  ///< share of the memory that a server uses
  double reserved = 2e9;     ///< bytes of workspace in each part, see Memory
  Efficiency efficiency;
  std::uint32_t max_sequences = 256;        ///< see SchedulerSettings
  std::uint64_t max_batched_tokens = 8192;  ///< see SchedulerSettings
  std::uint64_t max_length = 0;  ///< 0: the model's context, or what fits if that is less
  bool prefix_cache = true;
  double jitter = 0;  ///< see EngineSettings
};

/// What each part of the GPU runs.
struct DeployedEngine {
  EngineSettings engine;         ///< settings of each part
  std::uint64_t max_length = 0;  ///< tokens of prompt and reply
};

/// Error: exhausted, if a part has no room for the weights or for one request of `max_length`.
Result<DeployedEngine> deploy(const Deployment& deployment);

}  // namespace assay::simulator
