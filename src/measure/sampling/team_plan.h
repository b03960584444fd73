// Distributes rank 0's decision about what to measure.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "ranks/team/team.h"
#include "results/record/cell.h"

namespace assay {

/// What all ranks of a team measure.
struct TeamPlan {
  std::vector<Cell> cells;
  std::uint64_t seed = 1;  ///< PrepareContext::seed (measure/grid/benchmark.h)
};

/// Broadcasts rank 0's plan; `mine` is ignored on other ranks. Error: as from Team::exchange(), or
/// failed if the data received are not a plan of at most 100000 cells.
Result<TeamPlan> plan_of_rank_0(Team& team, const TeamPlan& mine);

}  // namespace assay
