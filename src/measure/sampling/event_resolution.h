// The time resolution of a device's events.
#pragma once

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

/// The granularity of the device's event clock in seconds: the smallest difference between 300
/// intervals of events around one to three launches of `kernel`, which does nothing and takes one
/// int. Differences below 0.1 ns are rounding and do not count. 0 if all intervals are equal.
/// Error: as from the device's calls.
Result<double> event_resolution(Device& device, Stream& stream, const Kernel& kernel);

}  // namespace assay
