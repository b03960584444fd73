// Finds a fast setting among many with few runs. If the budget has no time limit and suffices to
// race all settings, they all race. Otherwise settings are explored first with one run each: some
// at random, then always the setting with the largest expected improvement according to a
// regression over all runs so far. The most promising settings and the default setting then race.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "advise/tune/parameter_space.h"
#include "advise/tune/race.h"
#include "core/result.h"

namespace assay {

/// How long a search may take.
struct SearchBudget {
  std::size_t runs = 200;  ///< upper limit of calls of `run`, from 20
  /// The share of the time budget that is spent, called after each run; null if there is no time
  /// budget.
  std::function<double()> time_spent = {};
};

/// Returns how many runs a race of all `settings` takes; empty if the budget does not allow it, so
/// that settings are explored first.
std::optional<std::size_t> runs_to_race_all(std::size_t settings, const SearchBudget& budget);

/// What a search found.
struct SettingsFound {
  std::size_t explored = 0;         ///< number of runs before the race
  std::vector<Standing> finalists;  ///< settings that raced, ranked by race()
};

/// Searches for a fast setting. The search is deterministic: with the same results from `run` it
/// asks for the same runs, so a stopped search can be resumed by replaying its results. `run` is
/// called with effort 1 only; any setting may fail, including the default one. Error: from `run`.
Result<SettingsFound> search_settings(const ParameterSpace& space, const SearchBudget& budget,
                                      std::uint64_t seed, const RunContender& run);

}  // namespace assay
