// Compares a campaign's budget with its plan before the first unit, and reports what will not fit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay {

struct BudgetTerms {
  double budget_seconds = 0;
  std::optional<double> unit_budget_seconds;  ///< empty: unknown
  std::size_t cells = 0;                      ///< cells of a unit
  std::size_t least_pairs = 0;
  /// Seconds to start each arm (schedule.h), measured by the first look (first_look.h).
  std::vector<double> start_seconds;
};

/// Returns lines about what the budget has no time for; empty if there is time for everything, or
/// if the unit's budget is unknown. Error: usage, if starting the units of the first pair alone
/// takes the whole budget.
Result<std::string> budget_outlook(const BudgetTerms& terms);

}  // namespace assay
