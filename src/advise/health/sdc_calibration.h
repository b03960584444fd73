// Repeats a unit before the test, to learn its checksums and whether they are the same every time.
#pragma once

#include <vector>

#include "advise/health/unit_under_test.h"
#include "ranks/team/team.h"

namespace assay::health {

/// Repeats the unit's work, which must be set, 4 times, or 8 times in all if these differ. Sets
/// `expected`, `run_seconds` and the report. If fewer than 6 of 8 agree, buffers that differ are no
/// longer compared if they are a library's scratch memory (CheckedWork::leave_out()). Otherwise the
/// unit is left out: its work becomes null.
///
/// Returns the sums of each repetition, which the caller counts as tested; none if the unit is left
/// out. The ranks call it together if the work is of the team (WorkDescription::of_team); otherwise
/// `team` is not used. Error: as CheckedWork::learn() and repeat(), and as Team::exchange().
Result<std::vector<Sums>> calibrate(UnderTest& unit, Team& team);

}  // namespace assay::health
