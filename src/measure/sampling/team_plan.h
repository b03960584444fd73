// What rank 0 decides to measure, on all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cell.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

struct TeamPlan {
  std::vector<Cell> cells;
  std::uint64_t seed = 1;
};

/// Rank 0's plan; `mine` counts there alone. Error: as Team::exchange, or failed if what came is no
/// plan.
Result<TeamPlan> plan_of_rank_0(Team& team, const TeamPlan& mine);

}  // namespace assay
