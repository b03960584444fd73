// Lets one test at a time use a device: two would slow each other down and share its free memory.
#pragma once

#include "core/descriptor.h"
#include "core/result.h"
#include "results/record/device_facts.h"

namespace assay::health {

/// Holds the device for this process until the result is destroyed. Error: unavailable if another
/// test holds it, naming its process; file if the lock cannot be made.
Result<Descriptor> lock_device(const DeviceFacts& facts);

}  // namespace assay::health
