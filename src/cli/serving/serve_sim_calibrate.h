// The simulated server with times that were measured on a device, and the errors of its
// predictions.
#pragma once

#include "cli/command.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "serving/simulator/simulated_server.h"

namespace assay::cli {

/// Returns the engine that the store named by --calibrate-from describes; `arguments` must have
/// that option. Limits that they do not set, such as --max-num-seqs, are those that `assay serve`
/// has by default on the kind of device in that store. Error, naming the option: as read_records()
/// (results/store/store.h); usage, if the store lacks what is needed.
Result<simulator::EngineSettings> calibrated_engine(const Arguments& arguments);

/// Predicts the results of `assay load` in the store that --against names, with
/// calibrated_engine(), and prints predicted and measured values and their relative errors. Results
/// that compare_loads() (serving/simulator/compared_loads.h) skips are not shown. Error, naming the
/// option: as read_records() and compare_loads().
Status predict_measured_loads(const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
