// What might fail on a real AMD GPU although it works on the emulated one, and the checks of the
// self-test that ask.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "advise/selftest/report.h"

namespace assay::selftest {

struct Suspect {
  std::string_view question;  ///< "Do aligned 8-byte stores between GPUs arrive whole?"
  std::string_view checks;    ///< names, separated by spaces: all must pass for a yes
  std::string_view if_not;    ///< what a no means, and what to do
};
std::span<const Suspect> suspects();

enum class Verdict {
  yes,   ///< all checks passed
  no,    ///< one shows a fault
  open,  ///< one was not run, or this machine cannot be asked
};

struct SuspectAnswer {
  const Suspect* suspect;
  Verdict verdict;
  std::string because;  ///< detail of the check that decided, one line; may be empty
};

/// Returns what `report` answers of each suspect, in the order of suspects().
std::vector<SuspectAnswer> answers_in(const Report& report);

}  // namespace assay::selftest
