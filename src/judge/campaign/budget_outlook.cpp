#include "judge/campaign/budget_outlook.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "core/units.h"

namespace assay {
namespace {

/// A cell with less time is often not prepared, measured and verified before its time is over.
constexpr double least_share_seconds = 0.25;

}  // namespace

Result<std::string> budget_outlook(const BudgetTerms& terms) {
  const double starts =
      std::accumulate(terms.start_seconds.begin(), terms.start_seconds.end(), 0.0);
  if (starts >= terms.budget_seconds) {
    return Error{ErrorKind::usage,
                 fmt::format("the budget of {} leaves no time to measure: starting the {} units of "
                             "the first pair takes {}; give more",
                             format_seconds(terms.budget_seconds), terms.start_seconds.size(),
                             format_seconds(starts))};
  }
  if (!terms.unit_budget_seconds) return std::string();
  std::string text;
  const double unit = *terms.unit_budget_seconds;
  const double pair = starts + unit * static_cast<double>(terms.start_seconds.size());
  const double fitting = std::floor(terms.budget_seconds / pair);
  if (fitting < static_cast<double>(terms.least_pairs)) {
    text = fmt::format(
        "the budget of {} has time for {}; {} pairs, the least for a result of all cells, may take "
        "{}\n",
        format_clock(terms.budget_seconds),
        fitting > 1   ? fmt::format("about {:.0f} pairs", fitting)
        : fitting > 0 ? "about one pair"
                      : "no more than the first pair, and maybe not for that",
        terms.least_pairs, format_clock(pair * static_cast<double>(terms.least_pairs)));
  }
  const double share = unit / static_cast<double>(terms.cells);
  if (share < least_share_seconds) {
    text += fmt::format(
        "{} cells share the {} of a unit, {} each: what takes longer is measured only in some "
        "pairs, in turn; fewer cells or a longer unit budget measure all of them\n",
        terms.cells, format_seconds(unit), format_seconds(share));
  }
  return text;
}

}  // namespace assay
