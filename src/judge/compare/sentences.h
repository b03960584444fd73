// A comparison in sentences, for the command line and the report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/compare/comparison.h"
#include "judge/compare/fleet.h"

namespace assay {

/// Returns the verdict over all cells, e.g. "B is slower than A: 3 of 12 cells are slower ...". `a`
/// and `b` are the names of the sides.
std::string ruling_sentence(const Comparison& comparison, std::string_view a, std::string_view b);

/// Returns how much time B takes relative to A, without a full stop: "B takes 1.8% more time than A
/// (95% interval 1.2% to 2.3% more)", or "B takes 3% less to 5% more time than A (95% interval)" if
/// the interval includes "no difference". `ratio` is of times, and `of` is added within the
/// brackets: " of the geometric mean".
std::string effect_sentence(double ratio, const Interval& ratio95, std::string_view a,
                            std::string_view b, std::string_view of = "");

/// Returns how much time B takes relative to A over all cells. If the interval includes "no
/// difference", the sentence gives what is known instead of a number. Empty if no cell has both
/// values.
std::string time_sentence(const Summation& all, std::string_view a, std::string_view b);

/// Returns the proven upper bound of B's additional time: "B takes at most 20.1% longer than A in
/// each of 26 cells by itself, with 95% confidence". If bounds differ much between cells, it gives
/// the bound of half of them and of all. Empty if all are proven equal, or most cells have no
/// bound.
std::string bound_sentence(const Comparison& comparison, std::string_view a, std::string_view b);

/// Returns each kind of problem once, with the number of results that have it: "A: run 2026...:
/// memory op=copy: interrupted: the budget was spent (and 32 more such results)".
std::vector<std::string> kinds_of_problems(const std::vector<std::string>& problems);

/// Returns a node's position in a cell, whether it is an outlier or not, and which difference would
/// have been missed there: "node7 takes 3.1% more time than the fleet's median in memory op=triad
/// bandwidth (...); ...".
std::string node_sentence(std::string_view node, const NodeCell& cell);

}  // namespace assay
