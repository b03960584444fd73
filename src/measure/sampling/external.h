// Measures with another program: starts it, reads its output and turns its results into records.
#pragma once

#include <functional>
#include <vector>

#include "core/result.h"
#include "measure/grid/external_command.h"
#include "results/record/record.h"

namespace assay {

/// At least one record, each a copy of `blank` with cell, status, metrics and source filled in. A
/// command without an importer gives one record, for a cell named like the command; an importer's
/// cells get the axis "command" with that name. Error: unavailable if the program cannot be
/// started; interrupted if `stop_requested` ended it; failed, with the last line of its standard
/// error, if it failed, timed out, or its output is not as the suite describes.
Result<std::vector<Record>> run_external(const ExternalCommand& command, const Record& blank,
                                         const std::function<bool()>& stop_requested);

/// Checks within seconds whether the command could be run here. Error: unavailable if its program
/// is missing, or if the command is `assay load` or `assay run` and its option `--check` fails.
Status check_external(const ExternalCommand& command, const std::function<bool()>& stop_requested);

/// Checks that every `format` is an importer's name; call before measuring. Error: usage, naming
/// the command and the known formats.
Status check_formats(const std::vector<ExternalCommand>& commands);

/// The metric that `rule` finds in a program's output. Error: failed, naming the rule and what it
/// found.
Result<Metric> find_metric(const MetricRule& rule, std::string_view output);

}  // namespace assay
