// The state that a device reports around a wrong result: sensors and counts of memory errors.
#pragma once

#include <optional>
#include <string>

#include "compute/device/device.h"
#include "core/json_fwd.h"
#include "machine/system/sensor_reading.h"

namespace assay::health {

struct DeviceCondition {
  SensorReading sensors;
  /// Memory errors since the driver was loaded; empty if it does not count them.
  std::optional<double> ecc_corrected, ecc_uncorrected;
};

/// Reads the present state; what the device does not report is absent.
DeviceCondition condition_of(const Device& device);
/// Returns what is known: "1755 MHz, 65 C, 690 W, throttled: power"; empty if nothing is.
std::string text_of(const DeviceCondition& condition);

Json to_json(const DeviceCondition& condition);
/// Reads what to_json() wrote; members of another type count as absent.
DeviceCondition condition_from(const Json& json);

}  // namespace assay::health
