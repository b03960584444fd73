// A comparison as people read it. Pure functions.
#pragma once

#include <string>

#include "cli/terminal.h"
#include "judge/compare/comparison.h"

namespace assay::cli {

/// The verdict in one sentence: "EQUAL: B is as fast as A: all 12 cells are equal within 2%."
std::string sentence(const Comparison& comparison);

/// The exit status of `assay compare`: 0 EQUAL, 1 a difference, 3 INVALID, 6 open.
int exit_status_of(Verdict verdict);

/// Returns how B's value differs from A's, with the 95% interval if there is one:
/// "-1.8% [-2.3, -1.2]"; empty if the comparison has no estimate.
std::string change_text(const CellComparison& cell);

/// The sentence, a table of the cells, possible explanations, and notes on the data.
/// `every_difference`: also show differences between the environments beyond the first few.
std::string comparison_text(const Comparison& comparison, bool every_difference, std::size_t width,
                            const Style& style);

}  // namespace assay::cli
