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

/// The results of one setting.
struct Trial {
  Settings settings;
  std::map<std::string, double> speeds;  ///< by cell, passed cells only: rates, or 1 / seconds
  std::string problem;                   ///< why a cell is missing
};

/// Runs `words`, which begin with assay's own path and print records, with the settings in the
/// environment. Never fails: an error becomes the trial's `problem`.
Trial try_settings(const std::vector<std::string>& words, const Settings& settings,
                   const std::function<bool()>& stop_requested);

/// Speed over the first trial's: the geometric mean of the ratios over the first trial's cells.
/// Empty if one of these cells is missing: a setting that makes something fail is not a candidate.
std::optional<double> gain_of(const Trial& trial, const Trial& first);

/// The trial with the largest gain; the first trial if no gain is above 1.
std::size_t best_of(const std::vector<Trial>& trials);

}  // namespace assay
