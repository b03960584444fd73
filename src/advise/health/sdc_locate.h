// Finds where in a repetition the first wrong bits are, by looking at memory and by replaying it.
#pragma once

#include "advise/health/checked_work.h"
#include "advise/health/sdc.h"

namespace assay::health {

inline constexpr int replays_of_difference = 4;

/// Fills in the operation, the place and the bits that differ between the last repetition of
/// `work`, which gave `sums`, and `expected`; at least one block must differ. Unless the ranks do
/// the work together (`of_team`), it is replayed `replays_of_difference` times. Error: the work's,
/// with what is known so far in `difference`.
Status locate(CheckedWork& work, const Sums& sums, const Sums& expected, bool of_team,
              SdcDifference& difference);

}  // namespace assay::health
