// Keeps tests and other programs from using a device at the same time: they would slow each other
// down and share its free memory.
#pragma once

#include <filesystem>

#include "compute/device/device.h"
#include "core/descriptor.h"
#include "core/result.h"
#include "results/record/device_facts.h"

namespace assay::health {

/// Holds the device for this process until the result is destroyed. It locks a file named after the
/// device: of a GPU with a PCI address in /tmp, so that all users share it, of others in TMPDIR.
/// Error: unavailable if another test holds it, naming its process; file if the lock is no regular
/// file; as kind_of_file_error() (core/file_error.h) if it cannot be made or taken.
Result<Descriptor> lock_device(const DeviceFacts& facts);

/// Checks that other processes do not seem to use the device; hosts and emulated devices pass.
/// Error: unavailable, naming the memory in use, if that is more than the 2 GiB that drivers may
/// take; as Device::memory_free_and_total().
Status check_unused(const Device& device);

/// Checks the same without opening the device, by its telemetry below the folder `root`. It passes
/// if the telemetry does not say how much memory is in use, or the PCI address is not known.
Status check_unused(const DeviceFacts& facts, const std::filesystem::path& root = "/");

}  // namespace assay::health
