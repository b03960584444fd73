// The steps that all kinds of `assay tune` share once they know what to tune: open the folder,
// tune, and report the result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "advise/tune/tuning.h"
#include "cli/advise/tuning_outlook.h"
#include "cli/advise/tuning_view.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace assay::cli {

/// What to tune and how to show it. `space` and `rules` must outlive it.
struct TuningRun {
  std::string name;  ///< name of the tuned benchmark or program
  std::string plan;  ///< everything that the results depend on, as text; kept in the folder
  const ParameterSpace& space;
  const TuningRules& rules;
  TrialKind kind;
  TuningColumns columns;
  /// Text about the result to print after the search and before the conclusion.
  std::function<std::string(const TuningResult&)> details = {};
  RunDuration duration = {};  ///< what is known of a run's duration beforehand
};

/// The folder that --out names.
std::string tuning_folder(const Arguments& arguments);

/// Returns `rules` with the changes that --runs and --pairs ask for. Error: usage.
Result<TuningRules> read_tuning_rules(const Arguments& arguments, TuningRules rules);

/// The settings of `parameters`: every combination with --combine, else one changed at a time.
/// Error: usage.
Result<ParameterSpace> space_of(const std::vector<Parameter>& parameters,
                                const Arguments& arguments);

/// TuningRun::plan for a tuning from the command line. `what` describes everything but the
/// parameters and the rules.
std::string tuning_plan_text(const std::string& what, const ParameterSpace& space,
                             const TuningRules& rules);

/// Tunes, or continues the tuning in the folder, and prints the result; with --dry-run it only
/// prints what would be tried. Returns the exit status.
/// Error: as from TrialLog::open() and tune(); after an interrupt stopped_tuning().
Result<int> run_tuning(const TuningRun& run, const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
