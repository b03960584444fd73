// How finely a device's events measure time.
#pragma once

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

/// The smallest difference between 300 intervals of events around one to three of `kernel`, which
/// does nothing and takes one number: the granularity of the device's event clock in seconds. 0 if
/// all intervals are equal. Error: as from the device.
Result<double> event_resolution(Device& device, Stream& stream, const Kernel& kernel);

}  // namespace assay
