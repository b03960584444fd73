// Turns what the user asks for, a model on a GPU or on its partitions, into engine settings.
#pragma once

#include "serving/simulator/simulated_engine.h"

namespace assay::simulator {

/// What the user asks for. Memory and Efficiency are explained in capacity.h.
struct Deployment {
  Model model;
  Gpu gpu;                   ///< the whole GPU
  int parts = 1;             ///< number of equal partitions of the GPU, each with its own server
  double utilization = 0.9;  ///< share of a partition's memory that its server uses
  double reserved = 2e9;     ///< bytes of workspace in each partition, see Memory
  Efficiency efficiency;
  std::uint32_t max_sequences = 256;        ///< see SchedulerSettings
  std::uint64_t max_batched_tokens = 8192;  ///< see SchedulerSettings
  /// Upper limit of a request's tokens, prompt and reply together. 0: the model's context, or what
  /// the cache holds if that is less.
  std::uint64_t max_length = 0;
  bool prefix_cache = true;
  double jitter = 0;  ///< see EngineSettings
};

/// What each partition runs.
struct DeployedEngine {
  EngineSettings engine;         ///< without `measured` and `seed`, which the caller may set
  std::uint64_t max_length = 0;  ///< as in Deployment, and never 0
};

/// Error: exhausted, if a partition has no room for the weights, or its cache none for one request
/// of `max_length`.
Result<DeployedEngine> deploy(const Deployment& deployment);

}  // namespace assay::simulator
