// Telemetry of this machine's accelerators while servers on it are loaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "core/result.h"
#include "machine/telemetry/recorder.h"
#include "measure/store/record.h"
#include "serving/client/url.h"
#include "serving/load.h"

namespace assay::cli {

/// The recorder for --telemetry; by default there is one if all servers are on this machine. Null:
/// off. Error: usage.
Result<std::unique_ptr<TelemetryRecorder>> record_beside_load(const Arguments& arguments,
                                                              const std::vector<Url>& urls);

/// Adds to a load's record the telemetry of its duration, without the warm-up, and the
/// accelerators' energy per output token if it is known for all of them.
void add_telemetry(Record& record, TelemetryRecorder& recorder, const LoadReport& report);

/// " gpu0: 1.755 GHz, 512 W, 66 °C, clock capped 3% of the time", one line per accelerator; empty
/// if there is none.
std::string telemetry_text(const Record& record);

}  // namespace assay::cli
