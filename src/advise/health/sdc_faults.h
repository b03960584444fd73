// Whether a test can plant the faults that were asked for, known before it runs.
#pragma once

#include <span>

#include "advise/health/planted_fault.h"
#include "advise/health/unit_under_test.h"
#include "compute/device/device.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay::health {

/// Returns whether rank `rank` plants the fault in this unit.
bool is_of(const PlantedFault& fault, const UnderTest& unit, int rank);

/// Error: usage, if a fault of this rank is of no unit that the device supports, or its rank does
/// not exist.
Status find_units(std::span<const PlantedFault> faults, std::span<const UnderTest> units,
                  const Device& device, const Team& team);
/// Error: usage, if a fault of this rank names an operation or a buffer that none of its units has.
/// The units must be prepared. One without work may have any: its report says why it has none.
Status find_operations(std::span<const PlantedFault> faults, std::span<const UnderTest> units,
                       int rank);

}  // namespace assay::health
