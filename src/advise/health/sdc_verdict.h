// The verdict of a test from what its ranks say.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "advise/health/sdc.h"

namespace assay::health {

/// Adds a rank's repetitions, times, work and planted faults of each unit to those in `all`, which
/// has the same units.
void add_rank(std::vector<SdcUnit>& all, std::span<const SdcUnit> of_rank);

/// Decides, from the units of each rank and what is already in `all`: the units and coverage of all
/// ranks and their differences. `doubt` is why the verdict cannot be SOUND whatever the units say,
/// and `team_error` what ended the test; both may be empty.
void decide(SdcOutcome& all, std::span<const std::vector<SdcUnit>> ranks,
            const std::string& team_error, const std::string& doubt);

}  // namespace assay::health
