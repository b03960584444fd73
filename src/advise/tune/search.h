// Finds a fast setting among many with few runs. Where the budget is enough for a race among all
// of them, and there is none for time, that is it. Otherwise settings are explored first, one run
// each: some at random, then always the one that promises the largest improvement by a regression
// over all runs so far. The most promising ones, and the usual setting, meet in the race.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "advise/tune/parameter_space.h"
#include "advise/tune/race.h"
#include "core/result.h"

namespace assay {

struct SearchBudget {
  std::size_t runs = 200;
  /// The share of the budget for time that is spent, if there is one; asked after each run.
  std::function<double()> time_spent = {};
};

struct SettingsFound {
  std::size_t explored = 0;         ///< runs before the race
  std::vector<Standing> finalists;  ///< contenders are settings; as race() ranks them
};

/// Takes the same course whenever `run` gives the same results: a search that was stopped goes on
/// if it is given again what it had measured. `run` is called with effort 1 only, and settings may
/// fail, the usual one too. Error: from `run`.
Result<SettingsFound> search_settings(const ParameterSpace& space, const SearchBudget& budget,
                                      std::uint64_t seed, const RunContender& run);

}  // namespace assay
