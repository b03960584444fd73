// Which runs of assay measure the lines of limits, and how long they may take. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "advise/health/accept/judge_machine.h"
#include "results/record/device_facts.h"

namespace assay::health {

/// One process: `assay` with these arguments.
struct AcceptanceStep {
  std::string what;                ///< "hip:3: 9 lines"
  std::vector<std::string> words;  ///< "run", the lines' cells as a suite, options
  double seconds = 0;              ///< at most, without the process's start
  std::string device = {};         ///< "hip:3", if it measures only that one
};

struct AcceptancePlan {
  std::vector<AcceptanceStep> steps;  ///< in the order in which they run
  double seconds = 0;                 ///< of all steps with their starts
};

/// Divides `seconds` among the lines with a cell that are due: first those of single GPUs, in one
/// step for each device, then those of the node, then those of ranks (is_for_node(),
/// is_for_ranks()). With a single device only the first are planned. The time that processes need
/// to start is subtracted before, but at least half of `seconds` is divided, so with many devices
/// the plan takes longer than `seconds`.
AcceptancePlan plan_acceptance(const Limits& limits, Thoroughness thoroughness,
                               std::span<const DeviceFacts> devices, double seconds);

}  // namespace assay::health
