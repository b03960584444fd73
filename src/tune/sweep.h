// Tries settings one after the other, each in a process of its own, and finds the best.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "tune/settings.h"

namespace assay {

/// What one setting gave.
struct Trial {
  Settings settings;
  std::map<std::string, double>
      speeds;           ///< by cell: rates, or one over seconds; passed cells alone
  std::string problem;  ///< why there are none
};

/// Runs `words`, which begin with assay's own path and print records, with the settings in the
/// environment. Never fails as a whole: what goes wrong is the trial's problem.
Trial try_settings(const std::vector<std::string>& words, const Settings& settings,
                   const std::function<bool()>& stop_requested);

/// How much faster than the first trial, over the cells that both have: the geometric mean of the
/// ratios. Empty if a cell of the first one is missing: a setting with which something fails is no
/// candidate.
std::optional<double> gain_of(const Trial& trial, const Trial& first);

/// The trial with the largest gain; the first one if none has one above 1.
std::size_t best_of(const std::vector<Trial>& trials);

}  // namespace assay
