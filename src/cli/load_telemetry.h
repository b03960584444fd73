// What the accelerators of this machine do while servers on it are loaded.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "core/result.h"
#include "serving/client/url.h"
#include "store/record.h"
#include "telemetry/recorder.h"

namespace assay::cli {

/// --telemetry; if it is not given, a recorder where all servers are on this machine. Null: off.
/// Error: usage.
Result<std::unique_ptr<TelemetryRecorder>> record_beside_load(const Arguments& arguments,
                                                              const std::vector<Url>& urls);

/// Adds what was recorded since `begin` to a record of a load that gave `output_tokens`, and the
/// accelerators' energy per token where their drivers count it or their power is known.
void add_telemetry(Record& record, TelemetryRecorder& recorder,
                   TelemetryRecorder::Clock::time_point begin, double output_tokens);

/// "  gpu0: 1.755 GHz, 512 W, 66 °C, held down 3% of the time", a line each; empty without any.
std::string telemetry_text(const Record& record);

}  // namespace assay::cli
