// Measures with another program: starts it, reads its output and turns its results into records.
#pragma once

#include <functional>
#include <vector>

#include "core/result.h"
#include "measure/grid/external_command.h"
#include "results/record/record.h"

namespace assay {

/// Runs the command and returns at least one record. Without an importer it is one copy of `blank`,
/// for a cell named like the command; if a metric is not found, its status is `error` and it has
/// the other metrics. An importer's records get run, fingerprint and device from `blank`, and their
/// cells the axis "command" with the command's name.
///
/// Error: unavailable if the program cannot be started; interrupted if `stop_requested` ended it;
/// failed, with the last line of its standard error, if it failed or timed out; failed if its file
/// cannot be read, or the importer cannot read its output.
Result<std::vector<Record>> run_external(const ExternalCommand& command, const Record& blank,
                                         const std::function<bool()>& stop_requested);

/// Checks within seconds whether the command could be run here. Error: unavailable if its program
/// is missing, or if the command is `assay load` or `assay run` and fails with the option `--check`
/// added; interrupted if `stop_requested` ended that.
Status check_external(const ExternalCommand& command, const std::function<bool()>& stop_requested);

/// Checks that every `format` is an importer's name; call before measuring. Error: usage, naming
/// the command and the known formats.
Status check_formats(const std::vector<ExternalCommand>& commands);

/// The metric that `rule` finds in a program's output, in SI units. Error: failed, naming the rule
/// and what it found.
Result<Metric> find_metric(const MetricRule& rule, std::string_view output);

}  // namespace assay
