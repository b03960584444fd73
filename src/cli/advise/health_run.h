// Accepts the machine at hand: measures the lines of limits in processes of their own, judges them,
// and shows the result. `assay health` and `assay health accept` share it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "advise/doctor/doctor.h"
#include "advise/health/accept/acceptance.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace assay::cli {

/// What the options of acceptance_options() ask for.
struct AcceptanceRequest {
  health::Thoroughness thoroughness = health::Thoroughness::normal;
  double seconds = 0;             ///< for everything
  double corruption_seconds = 0;  ///< of these, for `assay health sdc`; 0: none
  /// When measuring ends, whatever is missing.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool shared = false;        ///< also devices whose memory other processes use
  std::string folder;         ///< of the store; `pipe`: none
  bool with_serials = false;  ///< the stored environment has serial numbers and UUIDs
};

/// Returns the options that both commands have.
std::vector<Option> acceptance_options();
/// Reads their values into `request`. Error: usage.
Status read_acceptance(const Arguments& arguments, AcceptanceRequest& request);

/// Measures and judges. Other tests of assay cannot lock the devices meanwhile. Error: usage, if
/// there are no limits for the device; unavailable, if there is no device or others use it; that of
/// a file of limits, or of the store.
Result<health::Acceptance> accept_machine(const AcceptanceRequest& request,
                                          const Arguments& arguments, const Diagnosis& diagnosis,
                                          Terminal& terminal);

/// The lines as a table, failures first, the doubts about their limits, and the verdict.
std::string acceptance_text(const health::Acceptance& acceptance, std::size_t width,
                            const Style& style);

}  // namespace assay::cli
