// A tuning as people and programs see it: its progress, what the search found, the proof.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "advise/tune/tuning.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "core/json_fwd.h"

namespace assay::cli {

/// What a table of settings shows besides their gains.
struct TuningColumns {
  std::vector<Column> columns;  ///< title and layout of each (cli/table.h)
  /// One text for each column. `score`: the mean over the setting's runs; `last`: its last run.
  std::function<std::vector<std::string>(double score, const Trial& last)> texts;
};

/// Shows the progress in a line that is rewritten, and prints a line for each run that is the best
/// so far or took long.
class TuningProgress {
 public:
  /// A run's result is shown as the first text of `columns`.
  TuningProgress(Terminal& terminal, const TuningRules& rules, TuningColumns columns)
      : terminal_(terminal), rules_(rules), columns_(std::move(columns)) {}
  ~TuningProgress();

  /// Returns the functions that tune() calls; this must outlive them.
  TuningEvents events();

 private:
  void begins(const TuningState& state);
  void ended(const TuningState& state, const Trial& trial, bool is_best);

  Terminal& terminal_;
  const TuningRules& rules_;
  const TuningColumns columns_;
  double seconds_ = 0;  // duration of the runs before the present one
};

/// The number of settings tried, why some failed, and a table of the best ones and the default.
std::string search_text(const ParameterSpace& space, const TuningResult& result,
                        const TuningColumns& columns, std::size_t width, const Style& style);
/// One sentence: the best setting and the result of its proof.
std::string conclusion_text(const ParameterSpace& space, const TuningResult& result);

Json tuning_json(const std::string& name, const ParameterSpace& space, const TuningResult& result);

/// The exit status of a completed tuning: exit_nothing_ran if no setting was measured without an
/// error and within its limits, exit_inconclusive if the proof did not decide, else exit_ok.
int status_of(const TuningResult& result);

}  // namespace assay::cli
