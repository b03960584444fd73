// What the budget of a campaign has time for: known before its first unit, and said then.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay {

struct BudgetTerms {
  double budget_seconds = 0;
  std::optional<double> unit_budget_seconds;  ///< empty: nobody knows how long a unit measures
  std::size_t cells = 0;                      ///< of a unit
  std::size_t least_pairs = 0;
  std::vector<double> start_seconds;  ///< what starting each arm takes, as the first look found
};

/// Lines about what there is no time for; empty: there is for all. Error: usage, if starting the
/// units of the first pair alone takes the budget.
Result<std::string> budget_outlook(const BudgetTerms& terms);

}  // namespace assay
