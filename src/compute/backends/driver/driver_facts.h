// The facts of one device, read without creating a context.
#pragma once

#include "compute/backends/driver/dialect.h"

namespace assay::driver {

/// `ordinal` is the driver's number of the device. Facts that cannot be read stay empty.
DeviceFacts read_facts(Dialect& dialect, int ordinal);

}  // namespace assay::driver
