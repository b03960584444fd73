// A comparison in sentences, for the command line and the report. All end with a full stop, except
// those of effect_sentence() and kinds_of_problems().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/compare/comparison.h"
#include "judge/compare/fleet.h"

namespace assay {

/// From this ratio on, readers divide by 100 anyway, so that "237 times" is said and not "23600%
/// more".
constexpr double many_times = 5;
/// Formats a ratio: "7.3 times", "237 times".
std::string times_text(double ratio);

/// Returns the verdict over all cells, e.g. "B is slower than A: 3 of 12 cells are slower ...". `a`
/// and `b` are what the sides are called in the sentence, such as "A" and "B".
std::string ruling_sentence(const Comparison& comparison, std::string_view a, std::string_view b);

/// Returns how much time B takes relative to A, without a full stop: "B takes 1.8% more time than A
/// (95% interval 1.2% to 2.3% more)", or "B takes 3% less to 5% more time than A (95% interval)" if
/// the interval includes "no difference". `ratio` is of times, and `of` follows
/// "95% interval" and begins with a space: " of the geometric mean".
std::string effect_sentence(double ratio, const Interval& ratio95, std::string_view a,
                            std::string_view b, std::string_view of = "");

/// Returns how much time B takes relative to A over all cells. If the interval includes "no
/// difference", the sentence gives the interval: "No difference in time is proven over all cells: B
/// takes 1.1% less to 9.8% more than A (95% interval of the geometric mean)." Empty if no cell has
/// both values.
std::string time_sentence(const Summation& all, std::string_view a, std::string_view b);

/// Returns the proven upper bound of B's additional time: "B takes at most 20.1% longer than A in
/// each of 26 cells by itself, with 95% confidence". If bounds differ much between cells, it gives
/// the bound of half of them and of all. Empty if all are proven equal, or most cells have no
/// bound.
std::string bound_sentence(const Comparison& comparison, std::string_view a, std::string_view b);

/// `problems` are ResultSet::problems. Returns each kind once, with the number of results that have
/// it; problems are of one kind if only their runs and cells differ: "A: run 2026...:
/// memory op=copy: interrupted: the budget was spent (and 32 more such results)".
std::vector<std::string> kinds_of_problems(const std::vector<std::string>& problems);

/// Returns a node's time in a cell relative to the fleet's median, whether it is an outlier or not,
/// and the smallest difference that would have been found there: "node7 takes 3.1% more time than
/// the fleet's median in memory op=triad bandwidth (...); ...".
std::string node_sentence(std::string_view node, const NodeCell& cell);

}  // namespace assay
