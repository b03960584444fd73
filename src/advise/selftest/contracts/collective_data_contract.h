// Checks the data of collectives (measure/benchmarks/collective/collective_data.h), which a device
// writes and checks, against the host's arithmetic and against another device.
#pragma once

#include <cstddef>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "ranks/collective/communicator.h"

namespace assay::selftest {

/// Checks the device's check: it must accept what the host reduces from contributions that the
/// device writes, in rising and in falling order of ranks, and find two wrong elements. `elements`:
/// at least 1000. Error: verification; as the device's calls.
Status check_reduced_data(Device& device, Stream& stream, DataType type, Reduction reduction,
                          int ranks, std::size_t elements);

/// Checks that `other` accepts the bits that `device` writes. Error: verification; as the devices'
/// calls.
Status check_same_bits(Device& device, Stream& stream, Device& other, Stream& other_stream,
                       DataType type, std::size_t elements);

}  // namespace assay::selftest
