// Says how a check ended.
#pragma once

#include <string>
#include <string_view>

#include "advise/selftest/check.h"

namespace assay::selftest {

enum class Outcome {
  passed,
  wrong,      ///< an answer is wrong, or a call that should have worked did not
  crashed,    ///< the process of the check was ended by a signal, or ended without an answer
  timed_out,  ///< the check was ended because it took too long
  untested,   ///< this machine cannot be asked
  stopped,    ///< the user stopped the self-test before or while it ran
};

struct CheckOutcome {
  std::string check;  ///< its name
  Outcome outcome = Outcome::untested;
  std::string detail;  ///< what was seen, or what is wrong; one line
  double seconds = 0;  ///< duration, with the opening of the device
};

/// Runs the check in this process on the device that `device_choice` means (as open_device() takes
/// it). Never fails: a device that cannot be opened leaves the check untested.
CheckOutcome run_check(const Check& check, std::string_view device_choice);

std::string_view name_of(Outcome outcome);  ///< "passed", "timed out"
/// Returns whether it shows that something is wrong.
bool is_fault(Outcome outcome);

}  // namespace assay::selftest
