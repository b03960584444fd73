// The interface of a benchmark: its axes, and for each cell a Case that enqueues work, verifies it
// and knows its bytes and operations. A new benchmark is one new file below measure/benchmarks that
// ends in
//   const Registry<const Benchmark*>::Add registered{&benchmark};
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/device/device.h"
#include "core/registry.h"
#include "core/result.h"
#include "measure/grid/axis.h"
#include "ranks/team/team.h"
#include "results/record/cell.h"
#include "results/record/metric.h"
#include "results/record/verification.h"
#include "results/record/work.h"
#include "statistics/summary.h"

namespace assay {

class Communicators;  // ranks/collective/communicators.h

/// A cell prepared on a device: buffers allocated, kernels compiled, inputs written. One thread
/// makes all calls. A derived class implements the pure functions, and the others where the default
/// does not fit.
class Case {
 public:
  virtual ~Case() = default;

  virtual Work work() const = 0;          ///< the work of one enqueue()
  virtual Quantity quantity() const = 0;  ///< the number that the cell reports
  virtual Limit limit() const = 0;        ///< the hardware limit that it is compared with
  /// Returns whether this rank does any of the timed work. If not, its times are ignored, but it
  /// still makes all calls that the team makes together.
  virtual bool takes_part() const { return true; }
  /// Returns whether the work synchronises the ranks: it ends on no rank before all have started
  /// it. The rank with the shortest time then started last.
  virtual bool waits_for_all() const { return false; }
  virtual TimeSource time_source() const { return TimeSource::device_events; }
  /// The state of the caches before each sample; with `cold` the sampler flushes them.
  virtual CacheState cache_state() const { return CacheState::hot; }
  /// Returns whether enqueue() may run while the start gate (measure/sampling/start_gate.h) holds
  /// the device: false if it waits for the device or queues more than about 30 operations, which
  /// would fill the device's queue.
  virtual bool fits_behind_gate() const { return true; }
  /// Returns whether several launches in a sample measure what one does: false for the latency of a
  /// single launch.
  virtual bool may_repeat() const { return true; }
  /// Facts for the record that are not in the cell, as pairs of name and value, such as the chosen
  /// geometry or algorithm, or {"level", "dram"}. Asked several times: before the samples, after
  /// them, and at the end.
  virtual std::vector<std::pair<std::string, std::string>> notes() const { return {}; }

  /// A fixed number of samples, of one launch each, to take after the shortest warm-up; the same on
  /// all ranks. Empty: sampling ends when the result is precise.
  virtual std::optional<std::size_t> fixed_samples() const { return std::nullopt; }
  /// Queues untimed work that must directly precede the first timed work of every sample, such as a
  /// barrier between ranks.
  virtual Status lead_in(Stream&) { return {}; }
  /// How often lead_in() launches the timed work itself. These launches count for the energy.
  virtual int lead_in_launches() const { return 0; }
  /// How many times the work is launched back to back in one sample; the least number for
  /// compute-bound work. `seconds` is the time of one launch in the warm-up, the same on all ranks.
  virtual int launches_per_sample(double /*seconds*/) const { return 1; }
  /// Queues the timed work once. Must not synchronize unless the work itself does.
  virtual Status enqueue(Stream& stream) = 0;
  /// Seconds of the work of the last sample, if the case's own events or clocks enclose it more
  /// tightly than the sampler's. A case that launches its work several times per sample must return
  /// the time of all launches. Called when the stream is idle: after every sample, also those of
  /// the warm-up, and sometimes again before the next one.
  virtual Result<std::optional<double>> own_seconds() { return std::optional<double>(); }
  /// Called after every sample, also those of the warm-up, when the stream is idle: for checks that
  /// belong to the samples, such as whether all ranks still hold the same weights. An Error ends
  /// the cell.
  virtual Status after_sample() { return {}; }
  /// Runs the work once on poisoned outputs and checks every result it can. Called after keep(),
  /// unless the samples were interrupted. An Error is a failure to check; for a wrong result
  /// Verification::passed is false.
  virtual Result<Verification> verify(Stream& stream) = 0;
  /// Called after the samples, even if they were interrupted, to write results that outlive the
  /// cell, such as a checkpoint.
  virtual Status keep(Stream&) { return {}; }
  /// Called on all ranks after verify() passed on all of them. Measures costs of parts of the work
  /// for metrics().
  virtual Status measure_costs(Stream&) { return {}; }
  /// Additional results, called after verify() passed. `seconds` summarises the time of one
  /// repetition.
  virtual std::vector<Metric> metrics(const Summary& /*seconds*/) const { return {}; }
  /// Results that depend on another number, such as the loss by step; called after metrics().
  virtual std::vector<Curve> curves() const { return {}; }

 protected:
  /// How many launches of `seconds` each fill a sample of `sample_seconds`; from 1 to 10000. If the
  /// case fits behind a gate at most 20: the queue of a held device takes no more.
  int launches_to_fill(double sample_seconds, double seconds) const;
};

/// The stop request of runs that cannot be stopped: an empty function, which must not be called.
inline const std::function<bool()> nobody_asks;

/// The context in which Benchmark::prepare() creates a case.
struct PrepareContext {
  Device& device;
  Stream& stream;
  std::uint64_t seed = 1;        ///< the same on all ranks
  Team& team;                    ///< the ranks that measure together; often only this process
  Communicators& communicators;  ///< communicators of the team, shared by all cells of the run
  /// Whether the run should stop; may be empty. Work that takes seconds polls it and returns the
  /// error interrupted.
  const std::function<bool()>& stop_requested = nobody_asks;
  /// Whether every enqueue() must queue the same operations on the same memory, each by itself even
  /// where a graph would be replayed.
  bool repeatable = false;
};

/// A statement drawn from several cells, such as "h2d pinned: 50% of the plateau at 96 KiB".
struct Conclusion {
  std::string name;  ///< stable key: "half_plateau_bytes direction=h2d memory=pinned"
  double value = 0;  ///< SI units
  std::string unit;  ///< "bytes", "s", "bytes/s"
  std::string text;  ///< one line for people
};

/// A cell's result for conclusions: the median of its quantity (in the unit of unit_of()) with its
/// confidence interval, and its metrics.
struct CellValue {
  Cell cell;
  double value = 0;
  Interval interval95 = {};
  std::vector<Metric> metrics = {};

  /// The value of the metric `name`; empty if there is none.
  std::optional<double> metric(std::string_view name) const;
};

/// There is one object for each benchmark, for the whole process; what a cell needs is in its Case.
/// A derived class implements the pure functions, and the others where it does more than the
/// default.
class Benchmark {
 public:
  virtual ~Benchmark() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;  ///< one line
  virtual const std::vector<Axis>& axes() const = 0;

  /// True for a cell that only repeats another because one of its axes has no effect on it, e.g.
  /// `copy direction=d2d memory=pageable`. A sweep leaves such cells out.
  virtual bool redundant(const Cell&) const { return false; }
  /// The concrete cells that `cell` stands for on this device and team, such as all pairs for
  /// `from=all to=all` or the team's size for `ranks=all`. Empty if there are none.
  virtual std::vector<Cell> expand(const Cell& cell, const Device&, const Team&) const {
    return {cell};
  }
  /// Returns whether the ranks of a team can measure a cell together. If not, a team of several
  /// ranks records it as unsupported.
  virtual bool takes_team() const { return false; }
  /// Returns whether the ranks queue collectives on streams (Communicator::enqueue
  /// (ranks/collective/communicator.h)).
  virtual bool queues_collectives() const { return false; }
  /// Returns why this cell cannot be measured on this device (missing type, too little memory);
  /// empty if it can. Must be quick and allocate nothing on the device. It may read a small file
  /// that the cell names, and accepts the cell if this file is wrong, so that prepare() reports the
  /// error.
  virtual std::optional<std::string> unsupported(const Cell& cell, const Device& device) const = 0;
  /// Checks files that a cell which unsupported() accepted names, for a run that only checks and
  /// prepares nothing, and whether the disk has room for those that rank 0 will write. It reads no
  /// more than unsupported() may. Error: as prepare() would report.
  virtual Status check_files(const Cell&, const Device&, const Team&) const { return {}; }
  /// Returns whether expand() and requirements() need an open device to give full answers. If so, a
  /// dry run opens it if it can.
  virtual bool depends_on_device() const { return false; }
  /// A few lines for `run --dry-run` about what measuring the cell needs; empty: nothing to report.
  virtual std::string requirements(const Cell&, const Device&) const { return ""; }
  /// Prepares a cell that expand() returned and unsupported() accepted. What `context` refers to
  /// outlives the case. The kind of an Error decides the record's status: unsupported and
  /// unavailable are no failures.
  virtual Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const = 0;
  /// Draws conclusions at the end of a run, from its cells of this benchmark that have a value.
  virtual std::vector<Conclusion> conclusions(std::span<const CellValue>) const { return {}; }
};

using BenchmarkRegistry = Registry<const Benchmark*>;

/// Every benchmark, sorted by name.
std::vector<const Benchmark*> benchmarks();
/// Null if there is no benchmark of that name.
const Benchmark* find_benchmark(std::string_view name);

}  // namespace assay
