// The interface of a benchmark: axes, and for each cell a Case that enqueues work, verifies it and
// knows how many bytes and operations it is. A new benchmark is one new file below
// measure/benchmarks that ends in
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

/// A cell prepared on a device: buffers allocated, kernels compiled, inputs written.
class Case {
 public:
  virtual ~Case() = default;

  virtual Work work() const = 0;
  virtual Quantity quantity() const = 0;
  virtual Limit limit() const = 0;
  /// Whether this rank does any of the timed work. If not, its seconds are ignored; it only follows
  /// the protocol.
  virtual bool takes_part() const { return true; }
  /// Whether the work ends on no rank before all ranks have started it. The rank with the shortest
  /// time then started last.
  virtual bool waits_for_all() const { return false; }
  virtual TimeSource time_source() const { return TimeSource::device_events; }
  virtual CacheState cache_state() const { return CacheState::hot; }
  /// Whether enqueue() may run while the device is held: false if it waits for the device or queues
  /// more than about 30 operations, which would fill the device's queue.
  virtual bool fits_behind_gate() const { return true; }
  /// Facts for the record that are not in the cell: chosen geometry, algorithm, "level=dram".
  virtual std::vector<std::pair<std::string, std::string>> notes() const { return {}; }

  /// How many samples of one launch each to take, however precise they are and however long they
  /// last, after the shortest warm-up; the same on all ranks. Empty: until they are precise.
  virtual std::optional<std::size_t> fixed_samples() const { return std::nullopt; }
  /// Queues untimed work that must come right before the first timed work of every sample, e.g. the
  /// barrier of ranks that start together.
  virtual Status lead_in(Stream&) { return {}; }
  /// How often that launches the timed work itself, which takes energy too.
  virtual int lead_in_launches() const { return 0; }
  /// How many times the work is launched back to back in one sample; of compute-bound work at least
  /// so often. `seconds` is the time of one launch in the warm-up, the same on all ranks.
  virtual int launches_per_sample(double /*seconds*/) const { return 1; }
  /// Queues the timed work once. Must not synchronize unless the work itself does.
  virtual Status enqueue(Stream& stream) = 0;
  /// Seconds of the last enqueue(), if the case's own events or clocks enclose it more tightly than
  /// the sampler's. Called after every sample, when the stream is idle.
  virtual Result<std::optional<double>> own_seconds() { return std::optional<double>(); }
  /// Called after every sample, when the stream is idle: for checks that belong to the samples,
  /// such as whether all ranks still hold the same weights. An Error ends the cell.
  virtual Status after_sample() { return {}; }
  /// Runs the work once on poisoned outputs and checks every result it can. Called after the
  /// samples of the same run; an Error is a failure to check, a wrong result is passed == false.
  virtual Result<Verification> verify(Stream& stream) = 0;
  /// Called after the samples, even if they were interrupted: keeps what outlives the cell.
  virtual Status keep(Stream&) { return {}; }
  /// Called on all ranks after a verify() that passed on all of them: measures what the work
  /// consists of, for metrics().
  virtual Status measure_costs(Stream&) { return {}; }
  /// Results beside the quantity, after a verify() that passed. `seconds`: of one repetition.
  virtual std::vector<Metric> metrics(const Summary& /*seconds*/) const { return {}; }
  virtual std::vector<Curve> curves() const { return {}; }

 protected:
  /// How many launches of `seconds` each fill a sample of `sample_seconds`; at least 1. Behind a
  /// gate at most 20: the queue of a held device takes no more.
  int launches_to_fill(double sample_seconds, double seconds) const;
};

/// Where nobody can ask a benchmark to end.
inline const std::function<bool()> nobody_asks;

/// What prepare() may use.
struct PrepareContext {
  Device& device;
  Stream& stream;
  std::uint64_t seed = 1;        ///< the same on all ranks
  Team& team;                    ///< the ranks that measure together; often only this process
  Communicators& communicators;  ///< the team's, shared by all cells of the run
  /// Whether the run shall end: what takes seconds asks it now and then, and ends as interrupted.
  const std::function<bool()>& stop_requested = nobody_asks;
};

/// A statement drawn from several cells, e.g. "h2d pinned: 50% of the plateau at 96 KiB".
struct Conclusion {
  std::string name;  ///< stable key: "half_plateau_bytes direction=h2d memory=pinned"
  double value = 0;  ///< SI units
  std::string unit;  ///< "bytes", "s", "bytes/s"
  std::string text;  ///< one line for people
};

/// A cell's result as conclusions need it: the median of the cell's quantity, the ends of its
/// interval, and the results beside it.
struct CellValue {
  Cell cell;
  double value = 0;
  Interval interval95 = {};
  std::vector<Metric> metrics = {};

  /// Empty if there is none of that name.
  std::optional<double> metric(std::string_view name) const;
};

class Benchmark {
 public:
  virtual ~Benchmark() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;  ///< one line
  virtual const std::vector<Axis>& axes() const = 0;

  /// True for a cell that only repeats another because one of its axes has no effect on it, e.g.
  /// `copy direction=d2d memory=pageable`. A sweep leaves such cells out.
  virtual bool redundant(const Cell&) const { return false; }
  /// The concrete cells of `cell` on this device and team: all pairs for `from=all to=all`, the
  /// team's size for `ranks=all`. Empty if there are none here.
  virtual std::vector<Cell> expand(const Cell& cell, const Device&, const Team&) const {
    return {cell};
  }
  /// Whether the ranks of a team measure a cell together; otherwise rank 0 measures it alone.
  virtual bool takes_team() const { return false; }
  /// Whether its ranks queue what they tell each other on streams (Communicator::enqueue).
  virtual bool queues_collectives() const { return false; }
  /// Why this cell cannot be measured on this device (missing type, too little memory); empty: it
  /// can. Must be cheap and allocate nothing.
  virtual std::optional<std::string> unsupported(const Cell& cell, const Device& device) const = 0;
  /// Whether cells are known only once a device is open (expand() and requirements() say more on
  /// one): a dry run then opens it if it can.
  virtual bool depends_on_device() const { return false; }
  /// What measuring the cell will need, a few lines for `run --dry-run`; empty: nothing to say.
  virtual std::string requirements(const Cell&, const Device&) const { return ""; }
  virtual Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const = 0;
  virtual std::vector<Conclusion> conclusions(std::span<const CellValue>) const { return {}; }
};

using BenchmarkRegistry = Registry<const Benchmark*>;

/// Every benchmark, sorted by name.
std::vector<const Benchmark*> benchmarks();
/// Null if there is no benchmark of that name.
const Benchmark* find_benchmark(std::string_view name);

}  // namespace assay
