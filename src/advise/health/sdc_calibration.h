// Finds out, by repeating a unit before the test, what it gives and whether it repeats its bits.
#pragma once

#include <vector>

#include "advise/health/unit_under_test.h"
#include "ranks/team/team.h"

namespace assay::health {

/// Repeats the unit 4 times, or 8 times if these differ. Sets the sums that it is expected to give,
/// what is not compared, and its report. Returns the sums of these repetitions, which count as
/// tested; none if the unit is left out because most of them differ. The ranks call it together for
/// work that they do together. Error: the work's, or the team's.
Result<std::vector<Sums>> calibrate(UnderTest& unit, Team& team);

}  // namespace assay::health
