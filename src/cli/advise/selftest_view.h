// The self-test on a terminal. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "advise/selftest/report.h"
#include "cli/terminal.h"

namespace assay::cli {

/// One line per check: its name, what holds if it passes, what it needs.
std::string checks_text(const std::vector<const selftest::Check*>& checks, std::size_t width,
                        const Style& style);

/// Returns "passed  graph-streams  a graph replays two streams in order" and what was seen, or what
/// is wrong.
std::string outcome_line(const selftest::Check& check, const selftest::CheckOutcome& outcome,
                         const Style& style);

/// Returns "60 passed, 1 wrong, 22 could not be tested on this machine".
std::string tally_text(const selftest::Tally& tally, const Style& style);

/// A report explained: the machine, what is wrong, and which questions about AMD GPUs it answers.
std::string explanation(const selftest::Report& report, const Style& style);

}  // namespace assay::cli
