// Energy in a record's telemetry, on the scripted device, which takes 100 W.
#pragma once

#include <algorithm>
#include <string>

#include "core/json.h"

namespace assay {

/// Seconds of the telemetry's window at its ends for which a channel, such as "gpu0.energy", has no
/// reading; more on a busy machine. What was consumed then is missing from the sum.
inline double unseen_seconds(const Json& telemetry, const std::string& channel) {
  const Json& readings = telemetry["channels"][channel]["values"];
  const double window = telemetry["window"];
  double first = window, last = 0;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (readings[i].is_null()) continue;
    first = std::min(first, telemetry["seconds"][i].get<double>());
    last = std::max(last, telemetry["seconds"][i].get<double>());
  }
  return std::max(first, 0.0) + std::max(window - last, 0.0);
}

}  // namespace assay
