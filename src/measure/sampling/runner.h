// The run loop: measures a list of cells on one device, one after the other, and produces a record
// of each. It is library code: it prints nothing and stops when asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "machine/telemetry/recorder.h"
#include "measure/grid/benchmark.h"
#include "measure/grid/external_command.h"
#include "measure/sampling/barrier.h"
#include "measure/sampling/sampler.h"
#include "ranks/team/team.h"
#include "results/record/cell.h"
#include "results/record/record.h"

namespace assay {

struct RunOptions {
  std::string run;                       ///< id of this run, copied into every record
  std::string fingerprint;               ///< id of the environment, copied into every record
  std::uint64_t seed = 1;                ///< seed of the inputs
  std::optional<double> budget_seconds;  ///< wall-clock time for all cells; empty: no limit
  bool only_check = false;  ///< only check cells; a cell that could be measured gets a record with
                            ///< the status `interrupted` and the reason that it was only checked
  SamplingLimits limits;    ///< per cell; a budget tightens them
  double telemetry_interval = 0;  ///< seconds between telemetry ticks during the run; 0: none
  std::vector<ExternalCommand> commands;  ///< cells that are other programs, by name
  std::optional<Barrier> barrier;         ///< synchronises with other processes before every cell's
                                          ///< samples; only rank 0 of a team has one
  /// The longest that a step of a cell (preparing, a sample, verifying) may take on a device other
  /// than a CPU before hung() is called.
  double device_patience_seconds = 600;
};

/// The caller's callbacks. All calls but hung() come from the thread that calls run_cells().
/// `index` is the cell's place in its list of cells.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void starting(std::size_t index, const Cell& cell) = 0;
  /// A record is complete; an external command may give several records for its cell. An Error
  /// (e.g. the store cannot be written) ends the run.
  virtual Status finished(std::size_t index, Record record) = 0;
  /// Polled between samples and cells, many times a second.
  virtual bool stop_requested() = 0;
  /// A step has taken longer than allowed: the running thread is stuck in the driver and cannot be
  /// recovered. `record` is the cell's error record. Called from another thread; should end the
  /// process.
  virtual void hung(std::size_t index, Record record) = 0;
};

/// How a run ended. Cells that were not started have no record.
struct RunOutcome {
  std::size_t measured = 0;             ///< cells with a record, of whatever status
  bool interrupted = false;             ///< stop_requested() was true on any rank
  std::vector<Conclusion> conclusions;  ///< Benchmark::conclusions() of all benchmarks that ran
};

/// Runs the cells in the given order. An unsupported cell is skipped with a record; every other one
/// is prepared, sampled, verified and recorded. A cell that fails does not stop the others. Before
/// each cell the remaining budget is divided equally among the cells left; a cell for which nothing
/// is left gets a record that reports it. With a barrier, sampling fills its time box, so that all
/// processes load the machine for the same time. With a `team` all ranks call this with the same
/// cells, each with its own device and observer; the records of rank 0 are the team's. Error: usage
/// if a cell belongs neither to a benchmark nor to a command; as Sampler::create(),
/// Barrier::arrive() or the observer; failed if a rank was lost.
Result<RunOutcome> run_cells(const std::vector<Cell>& cells, Device& device,
                             const RunOptions& options, RunObserver& observer,
                             Team& team = solo_team());

/// Starts recording the sensors of the device and of this process's CPUs every `interval` seconds;
/// null if that is 0.
std::unique_ptr<TelemetryRecorder> start_telemetry(const DeviceFacts& facts, double interval);

/// A new run id, "20260131T120000Z-3f2a90b1c7de". Ids sort by time. Two processes
/// that start in one second, also on two machines with one store, get the same id once in 2^48
/// times. Stores and histories would then take their results for those of one run. Older versions
/// wrote four digits.
std::string new_run_id();
/// The current time, "2026-01-31T12:00:00.123Z".
std::string utc_now();

/// Limits that are tighter where needed, for a cell that may use `seconds` of wall-clock time (0.01
/// at least) for everything.
SamplingLimits limits_within(SamplingLimits limits, double seconds);

}  // namespace assay
