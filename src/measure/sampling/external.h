// Measures with another program: starts it, reads its output, makes records of what it reports.
#pragma once

#include <functional>
#include <vector>

#include "core/result.h"
#include "measure/benchmarks/external_command.h"
#include "measure/store/record.h"

namespace assay {

/// At least one record, each a copy of `blank` with cell, status, metrics and source filled in. A
/// command without an importer gives one, of the cell named like the command; an importer's cells
/// get the axis "command" with that name. Error: unavailable if the program cannot be started,
/// interrupted if `stop_requested` ended it; failed if it failed itself, ran out of time, or its
/// output is not what the suite says, with the last line of its standard error.
Result<std::vector<Record>> run_external(const ExternalCommand& command, const Record& blank,
                                         const std::function<bool()>& stop_requested);

/// Whether every `format` is an importer's name, to be asked before anything is measured. Error:
/// usage, naming the command and the formats there are.
Status check_formats(const std::vector<ExternalCommand>& commands);

/// What `rule` finds in a program's output. Error: failed, naming the rule and what it found.
Result<Metric> find_metric(const MetricRule& rule, std::string_view output);

}  // namespace assay
