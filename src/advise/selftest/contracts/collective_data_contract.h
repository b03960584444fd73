// Data of collectives as the device writes and checks it, against the host's arithmetic.
#pragma once

#include <cstddef>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/result.h"
#include "ranks/collective/communicator.h"

namespace assay::selftest {

/// Checks that contributions which the device writes and the host reduces, in either order of
/// ranks, have the bits that the device's check expects, and that it finds wrong ones. `elements`:
/// at least 1000. Error: verification; as the device's calls.
Status check_reduced_data(Device& device, Stream& stream, DataType type, Reduction reduction,
                          int ranks, std::size_t elements);

/// Checks that two devices write the same bits. Error: verification; as the devices' calls.
Status check_same_bits(Device& device, Stream& stream, Device& other, Stream& other_stream,
                       DataType type, std::size_t elements);

}  // namespace assay::selftest
