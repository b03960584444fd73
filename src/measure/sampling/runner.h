// The run loop: measures a list of cells on one device, one after the other, and hands out a record
// of each. Library code: it prints nothing and stops when asked.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/cell.h"
#include "core/result.h"
#include "measure/benchmarks/benchmark.h"
#include "measure/benchmarks/external_command.h"
#include "measure/sampling/barrier.h"
#include "measure/sampling/sampler.h"
#include "measure/store/record.h"
#include "ranks/team/team.h"

namespace assay {

struct RunOptions {
  std::string run;                        ///< id of this run, copied into every record
  std::string fingerprint;                ///< id of the environment, likewise
  std::uint64_t seed = 1;                 ///< of the inputs
  std::optional<double> budget_seconds;   ///< wall-clock time for all cells together
  SamplingLimits limits;                  ///< of one cell; a budget makes them tighter
  double telemetry_interval = 0;          ///< seconds between ticks beside the samples; 0: none
  std::vector<ExternalCommand> commands;  ///< cells that are other programs, by name
  std::optional<Barrier> barrier;  ///< where other processes are met before every cell's samples
  /// How long a device that is not a CPU may keep one step of a cell (preparing, a sample,
  /// verifying).
  double device_patience_seconds = 600;
};

/// What the caller wants to hear and decide. All calls come from the thread that runs.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void starting(std::size_t index, const Cell& cell) = 0;
  /// The record is complete; a command may give several for its cell. An Error ends the run (a
  /// store that cannot be written, for instance).
  virtual Status finished(std::size_t index, Record record) = 0;
  /// Polled between samples and cells, many times a second.
  virtual bool stop_requested() = 0;
  /// The device has kept a step for longer than allowed: the thread that runs is stuck in its
  /// driver and nothing can bring it back. `record` is that cell's, an error. The one call from
  /// another thread; it should end the process.
  virtual void hung(std::size_t index, Record record) = 0;
};

/// How a run ended. Cells that were not started have no record.
struct RunOutcome {
  std::size_t measured = 0;  ///< cells with a record
  bool interrupted = false;  ///< stop_requested() was true
  std::vector<Conclusion> conclusions;
};

/// Each cell in the given order: refused if unsupported, else prepared, sampled, verified,
/// recorded. A cell that fails does not stop the others. A budget is divided as it goes: every cell
/// may use an equal part of what is left, and cells that find nothing left get a record that says
/// so. At a barrier sampling fills its time box, so that all processes load the machine for as
/// long. With a `team` all ranks call it with the same cells, each with its own device and
/// observer; the records of rank 0 are the team's. Error: the device cannot be sampled at all, a
/// cell names no benchmark, an observer's error, or a rank was lost.
Result<RunOutcome> run_cells(const std::vector<Cell>& cells, Device& device,
                             const RunOptions& options, RunObserver& observer,
                             Team& team = solo_team());

/// "20260131T120000Z-3f2a": sorts by time, differs between processes of one second.
std::string new_run_id();
/// "2026-01-31T12:00:00.123Z"
std::string utc_now();

/// Tighter limits for a cell that may use `seconds` of wall-clock time for everything.
SamplingLimits limits_within(SamplingLimits limits, double seconds);

}  // namespace assay
