// A comparison in sentences, for the command line and the report.
#pragma once

#include <string>
#include <string_view>

#include "judge/compare/comparison.h"
#include "judge/compare/fleet.h"

namespace assay {

/// The verdict over all cells, e.g. "B is slower than A: 3 of 12 cells are slower ...". `a` and `b`
/// are what the sides are called.
std::string ruling_sentence(const Comparison& comparison, std::string_view a, std::string_view b);

/// How much time B takes against A over all cells; where the interval holds "no difference", it
/// says what is known instead of a number. Empty if no cell has both values.
std::string time_sentence(const Summation& all, std::string_view a, std::string_view b);

/// What is proven of how much longer B takes at most: "B takes at most 20.1% longer than A in each
/// of 26 cells by itself, with 95% confidence". Where that differs much between cells, it says how
/// much at most in half of them and in all. Empty if all are proven equal, or most cells have no
/// bound.
std::string bound_sentence(const Comparison& comparison, std::string_view a, std::string_view b);

/// Where a node stands in a cell, odd or not, and which difference would have gone unnoticed there:
/// "node7 takes 3.1% more time than the fleet's median in memory op=triad bandwidth (...); ...".
std::string node_sentence(std::string_view node, const NodeCell& cell);

}  // namespace assay
