// Finds out, by repeating a unit before the test, what it gives and whether it repeats its bits.
#pragma once

#include <vector>

#include "advise/health/unit_under_test.h"
#include "ranks/team/team.h"

namespace assay::health {

/// Sets what the unit is expected to give, what is not compared, and its report. Returns the
/// repetitions, which count; none if the unit is left out because it does not repeat its bits. The
/// ranks call it together for work that they do together. Error: the work's, or the team's.
Result<std::vector<Sums>> calibrate(UnderTest& unit, Team& team);

}  // namespace assay::health
