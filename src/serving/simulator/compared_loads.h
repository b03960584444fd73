// Predicts loads that were measured, to show how far off the model is.
#pragma once

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
  std::uint64_t requests = 0, prompt_tokens = 0, output_tokens = 0;
  std::vector<ComparedFigure> figures;
};

/// Predicts every passed record of `assay load` with random prompts of one length, for `engines`
/// equal engines. Error: usage, if there is none, or one whose requests do not fit the cache.
Result<std::vector<ComparedLoad>> compare_loads(const std::vector<Record>& records,
                                                const EngineSettings& engine, int engines);

}  // namespace assay::simulator
