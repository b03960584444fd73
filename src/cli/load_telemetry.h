// What the accelerators of this machine do while servers on it are loaded.
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

/// --telemetry; if it is not given, a recorder where all servers are on this machine. Null: off.
/// Error: usage.
Result<std::unique_ptr<TelemetryRecorder>> record_beside_load(const Arguments& arguments,
                                                              const std::vector<Url>& urls);

/// Adds to a load's record what was recorded while it lasted, without its warm-up, and the
/// accelerators' energy per output token where it is known of all.
void add_telemetry(Record& record, TelemetryRecorder& recorder, const LoadReport& report);

/// "  gpu0: 1.755 GHz, 512 W, 66 °C, held down 3% of the time", a line each; empty without any.
std::string telemetry_text(const Record& record);

}  // namespace assay::cli
