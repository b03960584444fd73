// A comparison in sentences, for the command line and the report.
#pragma once

#include <string>
#include <string_view>

#include "judge/compare/comparison.h"

namespace assay {

/// The verdict over all cells, e.g. "B is slower than A: 3 of 12 cells are slower ...". `a` and `b`
/// are what the sides are called.
std::string ruling_sentence(const Comparison& comparison, std::string_view a, std::string_view b);

/// How much time B takes against A over all cells; where the interval holds "no difference", it
/// says what is known instead of a number. Empty if no cell has both values.
std::string time_sentence(const Summation& all, std::string_view a, std::string_view b);

}  // namespace assay
