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
  std::vector<std::unique_ptr<Backend>> backends;  ///< must outlive the device
  std::unique_ptr<Device> device;
  Descriptor
      lock;  ///< of lock_device(), held as long as this lives; none for several ranks on CPUs

  Team& team() const { return session.team ? *session.team : solo_team(); }
};

/// Meets the ranks that --ranks, --hosts or a launcher ask for, started with `words` ("health",
/// "sdc") and those options of `arguments` that `passed_on` names, and opens and locks this rank's
/// device. Standard output of ranks other than 0 is closed. Error: as read_team_request() and
/// meet_ranks() (cli/measure/run_ranks.h), open_device() and
/// lock_device() (advise/health/device_use.h).
Result<HealthDevice> open_for_health(const Arguments& arguments,
                                     const std::vector<std::string>& words,
                                     const std::vector<std::string>& passed_on, Terminal& terminal);

/// Reads --duration, --seed, --only, --memory and --plant; interrupts stop the test. Error: usage.
Result<health::SdcPlan> read_sdc_plan(const Arguments& arguments);

/// Checks whether the result can go to `file`. Error: as check_writable() (core/write_file.h);
/// usage if the file holds a CORRUPT result without planted faults, which is evidence and not
/// replaced.
Status check_result_file(const std::string& file);

/// Shows a result, `json` with --json and otherwise `text`, and writes `json` to `file`. Error: as
/// write_file() (core/write_file.h).
Status keep_result(const Arguments& arguments, Terminal& terminal, const std::string& file,
                   const Json& json, const std::string& text);

/// How far a test is, as lines of a log: one when the test begins, and then at most one in 15 s or
/// in a hundredth of a longer test.
class SdcProgressLines {
 public:
  /// Returns "[0:16/2:30]  2:14 left  gemm shape=8192" with a line end; empty if no line is due.
  std::string next(const health::SdcProgress& progress);

 private:
  std::optional<double> last_;  // seconds of the test at the last line
};

/// Returns a function that shows how far the test is: on a terminal in a line that is rewritten,
/// elsewhere as SdcProgressLines.
std::function<void(const health::SdcProgress&)> shown_progress(Terminal& terminal);

/// Returns the exit status.
int status_of(const health::SdcOutcome& outcome);

/// Returns `options`, followed by those of open_for_health() and --seed and --plant.
std::vector<Option> with_rank_options(std::vector<Option> options);

}  // namespace assay::cli
