// What every `assay tune` does once it knows what to tune: it opens the folder, tunes, and says
// what it found.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "advise/tune/tuning.h"
#include "cli/advise/tuning_view.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace assay::cli {

struct TuningRun {
  std::string name;  ///< of what is tuned
  std::string plan;  ///< everything that the results depend on, as text; the folder keeps it
  const ParameterSpace& space;
  const TuningRules& rules;
  TrialKind kind;
  TuningColumns columns;
  /// More to say of the result, after the search and before the conclusion.
  std::function<std::string(const TuningResult&)> details = {};
};

/// The folder that --out names.
std::string tuning_folder(const Arguments& arguments);

/// `usual` with what --runs and --pairs ask for. Error: usage.
Result<TuningRules> read_tuning_rules(const Arguments& arguments, TuningRules usual);

/// The settings of `parameters`: every combination with --combine, else one changed at a time.
/// Error: usage.
Result<ParameterSpace> space_of(const std::vector<Parameter>& parameters,
                                const Arguments& arguments);

/// TuningRun::plan of what the command line asks for; `what` has all but parameters and rules.
std::string tuning_plan_text(const std::string& what, const ParameterSpace& space,
                             const TuningRules& rules);

/// Returns the exit status. Error: as from tune(), TrialLog::open().
Result<int> run_tuning(const TuningRun& run, const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
