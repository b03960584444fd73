// What a tuning would try, and for how long: --dry-run of `assay tune`. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "advise/tune/tuning.h"
#include "cli/terminal.h"
#include "core/json_fwd.h"

namespace assay::cli {

/// What is known about the duration of one run before any has run, in seconds.
struct RunDuration {
  std::optional<double> arrivals = {};  ///< in which the requests of a load arrive on average
  std::optional<double> most = {};      ///< a run that takes longer is stopped and has failed
};

/// The parameters with their values, the runs of search and proof, and what is known of their time.
std::string outlook_text(const std::string& name, const ParameterSpace& space,
                         const TuningRules& rules, const RunDuration& duration, std::size_t width,
                         const Style& style);
Json outlook_json(const std::string& name, const ParameterSpace& space, const TuningRules& rules,
                  const RunDuration& duration);

}  // namespace assay::cli
