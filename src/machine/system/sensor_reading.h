// What a device's sensors say.
#pragma once

#include <optional>
#include <string>

namespace assay {

/// What the device reports about itself at one moment; an absent sensor stays empty.
struct SensorReading {
  std::optional<double> clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> power_watts;
  std::optional<double> temperature_celsius;
  std::string throttle_reasons;  ///< comma-separated, in the driver's words; empty: none or unknown
};

}  // namespace assay
