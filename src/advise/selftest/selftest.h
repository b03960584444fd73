// The self-test: runs checks, each in a process of its own, so that a crash or a hang costs one
// line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/selftest/report.h"

namespace assay::selftest {

/// Returns every check, sorted by topic and name.
std::vector<const Check*> checks();

/// Returns the checks that `names` means: names of checks or topics, separated by commas; all if it
/// is empty. Error: usage for an unknown name, with the closest one.
Result<std::vector<const Check*>> find_checks(std::string_view names);

struct SelftestOptions {
  std::string binary;           ///< path of this program
  std::string device;           ///< as for open_device()
  double patience_seconds = 0;  ///< the longest that a check may take; 0: its own limit
  // All functions must be set.
  std::function<bool()> stop_requested;
  /// Called before each check that is run.
  std::function<void(const Check& check)> starting;
  /// Called after each check, also if it was not run.
  std::function<void(const Check& check, const CheckOutcome& outcome)> finished;
};

/// Asks a process for the machine, then runs each check in one. Checks that the user stopped are in
/// the report as such. If the first process finds no device, all checks are untested, with the
/// reason.
Report run_selftest(const std::vector<const Check*>& checks, const SelftestOptions& options);

}  // namespace assay::selftest
