// What the commands that test a device for its health share: options, ranks, the device and its
// lock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/health/sdc.h"
#include "cli/command.h"
#include "compute/device/backend.h"
#include "core/descriptor.h"
#include "core/json.h"
#include "ranks/launch/team_session.h"

namespace assay::cli {

/// A device under test, alone or with those of the other ranks.
struct HealthDevice {
  TeamSession session;
  std::vector<std::unique_ptr<Backend>> backends;
  std::unique_ptr<Device> device;
  Descriptor lock;

  Team& team() const { return session.team ? *session.team : solo_team(); }
};

/// Meets the ranks that --ranks, --hosts or a launcher ask for, started with `words` ("health",
/// "sdc") and their options of `passed_on`, and opens and locks this rank's device. Output of ranks
/// other than 0 is closed. Error: usage; as open_device() and lock_device().
Result<HealthDevice> open_for_health(const Arguments& arguments,
                                     const std::vector<std::string>& words,
                                     const std::vector<std::string>& passed_on, Terminal& terminal);

/// --duration, --seed, --only, --memory and --plant. `stop_requested` is that of signals. Error:
/// usage.
Result<health::SdcPlan> read_sdc_plan(const Arguments& arguments);

/// Checks whether the result can go to `file`. Error: as check_writable(); usage if it holds the
/// result of a test that was CORRUPT without planted faults, which is evidence.
Status check_result_file(const std::string& file);

/// Shows a result, `json` with --json and otherwise `text`, and writes `json` to `file`. Error: as
/// write_file().
Status keep_result(const Arguments& arguments, Terminal& terminal, const std::string& file,
                   const Json& json, const std::string& text);

/// Rewrites the line that shows how far the test is.
std::function<void(const health::SdcProgress&)> shown_progress(Terminal& terminal);

/// The status of a verdict.
int status_of(const health::SdcOutcome& outcome);

/// Options of open_for_health().
std::vector<Option> with_rank_options(std::vector<Option> options);

}  // namespace assay::cli
