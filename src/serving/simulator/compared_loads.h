// Predicts loads that were measured, to show how far off the simulation is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "results/record/record.h"
#include "serving/simulator/simulated_engine.h"

namespace assay::simulator {

/// A metric of one load, measured and predicted.
struct ComparedFigure {
  std::string name, unit;  ///< as in records: "mean_ttft", "s"
  double measured = 0, predicted = 0;

  /// Returns the relative error: 0.1 if the prediction is 10% too large.
  double error() const { return predicted / measured - 1; }
};

/// A measured load, compared with the simulator's prediction.
struct ComparedLoad {
  std::string load;  ///< "32 in flight", "4 req/s"
  std::uint64_t requests = 0;
  std::uint64_t prompt_tokens = 0, output_tokens = 0;  ///< of each request
  /// The throughput of output tokens and the means of TTFT, TPOT and end-to-end latency. Figures
  /// that the record lacks are left out.
  std::vector<ComparedFigure> figures;
};

/// Simulates the loads of `records` on `engines` equal engines. These are passed records of `assay
/// load` with streamed replies to random prompts of one length and no common prefix. Requests
/// arrived as a Poisson process, all at once, or so that a fixed number were in flight. Other
/// records are skipped. Error: usage if none is left, or if a request does not fit an engine's KV
/// cache.
Result<std::vector<ComparedLoad>> compare_loads(const std::vector<Record>& records,
                                                const EngineSettings& engine, int engines);

}  // namespace assay::simulator
