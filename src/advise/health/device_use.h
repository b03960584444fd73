// Keeps tests and other programs from using a device at the same time: they would slow each other
// down and share its free memory.
#pragma once

#include <filesystem>

#include "compute/device/device.h"
#include "core/descriptor.h"
#include "core/result.h"
#include "results/record/device_facts.h"

namespace assay::health {

/// Holds the device for this process until the result is destroyed. Error: unavailable if another
/// test holds it, naming its process; file if the lock cannot be made.
Result<Descriptor> lock_device(const DeviceFacts& facts);

/// Checks that other processes do not seem to use the device. Error: unavailable, naming the memory
/// in use, if that is more than drivers take.
Status check_unused(const Device& device);

/// Checks that without opening the device, by its telemetry below the folder `root`. Passes if that
/// does not tell.
Status check_unused(const DeviceFacts& facts, const std::filesystem::path& root = "/");

}  // namespace assay::health
