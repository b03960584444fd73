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
  std::vector<Column> columns;
  /// One text for each column. `score`: the mean over the setting's runs.
  std::function<std::vector<std::string>(double score, const Trial& last)> texts;
};

/// Rewrites a line while runs go on, and tells the best so far and runs that took long.
class TuningProgress {
 public:
  /// The first text of `columns` stands for a run's result.
  TuningProgress(Terminal& terminal, const TuningRules& rules, TuningColumns columns)
      : terminal_(terminal), rules_(rules), columns_(std::move(columns)) {}
  ~TuningProgress();

  TuningEvents events();

 private:
  void begins(const TuningState& state);
  void ended(const TuningState& state, const Trial& trial, bool is_best);

  Terminal& terminal_;
  const TuningRules& rules_;
  const TuningColumns columns_;
  double seconds_ = 0;  // of the runs before the present one
};

/// How much was tried, why settings failed, and the best ones with the usual one.
std::string search_text(const ParameterSpace& space, const TuningResult& result,
                        const TuningColumns& columns, std::size_t width, const Style& style);
/// One sentence: the best setting, what the proof says of it.
std::string conclusion_text(const ParameterSpace& space, const TuningResult& result);

Json tuning_json(const std::string& name, const ParameterSpace& space, const TuningResult& result);

/// The exit status of a tuning that came to its end.
int status_of(const TuningResult& result);

}  // namespace assay::cli
