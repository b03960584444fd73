// The simulated server with times that were measured on a device, and the errors of its
// predictions.
#pragma once

#include "cli/command.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "serving/simulator/simulated_server.h"

namespace assay::cli {

/// The engine that --calibrate-from describes, with the limits that `assay serve` has on the device
/// of its results unless they are given. Error: usage, naming the option.
Result<simulator::EngineSettings> calibrated_engine(const Arguments& arguments);

/// Predicts the loads of --against with calibrated_engine(), and prints the errors of the
/// predictions. Error: usage.
Status predict_measured_loads(const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
