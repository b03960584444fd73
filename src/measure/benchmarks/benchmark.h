// What a benchmark is: axes, and for each cell a Case that enqueues work, verifies it and knows its
// own work model. A new benchmark is one new file in this folder that ends in
//   const Registry<const Benchmark*>::Add registered{&benchmark};
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/device/device.h"
#include "core/cell.h"
#include "core/data_type.h"
#include "core/registry.h"
#include "core/result.h"
#include "measure/benchmarks/axis.h"
#include "ranks/team/team.h"

namespace assay {

class Communicators;  // collective/communicators.h

/// How a sample's seconds are taken.
enum class TimeSource {
  device_events,  ///< between two events around the work, queued before the device starts
  host_clock,     ///< host monotonic clock from before enqueue() until the stream is idle
  enqueue_only,   ///< host monotonic clock around enqueue() alone: what submitting costs
};

/// The state of the caches before a sample.
enum class CacheState {
  hot,   ///< left as the previous sample left it; declared in the record
  cold,  ///< flushed with twice the last-level cache
};

/// What one enqueue() does, the basis of every rate and roofline.
struct Work {
  double bytes = 0;        ///< moved through the memory or link under test, reads plus writes
  double flops = 0;        ///< floating-point (or integer) operations
  double repetitions = 1;  ///< identical operations per enqueue(): seconds are divided by it
  DataType math = DataType::f32;  ///< whose peak rate bounds `flops`
  double links = 1;               ///< times the rate of its link limit that is there for it
};

/// Which hardware limit a case is held against.
enum class Limit { none, memory, compute, host_link, peer_link };

/// The number a cell reports, derived from a sample's seconds.
enum class Quantity {
  bandwidth,  ///< bytes/s, higher is better
  flop_rate,  ///< FLOP/s, higher is better
  latency,    ///< seconds per repetition, lower is better
};

/// What verification found. `error` is the measured deviation in the method's own unit.
struct Verification {
  bool passed = false;
  std::string method;  ///< "every element against its closed form", ...
  double error = 0;
  double tolerance = 0;
  std::string detail;  ///< on failure: the first wrong element, what it is, what it should be
};

/// Of a check whose results are right exactly if none of them is `wrong`.
inline Verification exact_verification(std::string method, std::uint64_t wrong,
                                       std::string detail) {
  return {wrong == 0, std::move(method), static_cast<double>(wrong), 0, std::move(detail)};
}

/// A cell prepared on a device: buffers allocated, kernels compiled, inputs written.
class Case {
 public:
  virtual ~Case() = default;

  virtual Work work() const = 0;
  virtual Quantity quantity() const = 0;
  virtual Limit limit() const = 0;
  /// Whether this rank does any of the timed work. If not, its seconds mean nothing: it only keeps
  /// the others company.
  virtual bool takes_part() const { return true; }
  /// Whether the work ends on no rank before all have come to it. Who is inside it for the shortest
  /// time then came last.
  virtual bool waits_for_all() const { return false; }
  virtual TimeSource time_source() const { return TimeSource::device_events; }
  virtual CacheState cache_state() const { return CacheState::hot; }
  /// Whether enqueue() may run while the device is held: false if it waits for the device or queues
  /// more than about 30 operations, which would fill the device's queue.
  virtual bool fits_behind_gate() const { return true; }
  /// Facts for the record that the cell does not say: chosen geometry, algorithm, "level=dram".
  virtual std::vector<std::pair<std::string, std::string>> notes() const { return {}; }

  /// Queues what must come right before the first timed work of every sample, untimed: the barrier
  /// of ranks that start together, for instance.
  virtual Status lead_in(Stream&) { return {}; }
  /// How often the work is launched, back to back, in one sample. `seconds`: of one launch, as the
  /// warm-up saw it, and the same on all ranks.
  virtual int launches_per_sample(double /*seconds*/) const { return 1; }
  /// Queues the timed work once. Must not synchronize unless the work itself does.
  virtual Status enqueue(Stream& stream) = 0;
  /// Seconds of what the last enqueue() did, where events or clocks of the case's own enclose it
  /// more closely than the sampler's; asked for after every sample, when the stream is idle.
  virtual Result<std::optional<double>> own_seconds() { return std::optional<double>(); }
  /// Runs the work once on poisoned outputs and checks every result it can. Called after the
  /// samples of the same run; an Error is a failure to check, a wrong result is passed == false.
  virtual Result<Verification> verify(Stream& stream) = 0;
};

/// What prepare() may use.
struct PrepareContext {
  Device& device;
  Stream& stream;
  std::uint64_t seed = 1;        ///< the same on all ranks
  Team& team;                    ///< whom this process measures with; often nobody
  Communicators& communicators;  ///< of that team, shared by all cells of the run
};

/// A statement drawn from several cells, e.g. "h2d pinned: 50% of the plateau at 96 KiB".
struct Conclusion {
  std::string name;  ///< stable key: "half_plateau_bytes direction=h2d memory=pinned"
  double value = 0;  ///< SI units
  std::string unit;  ///< "bytes", "s", "bytes/s"
  std::string text;  ///< one line for people
};

/// A cell's outcome as conclusions need it: median value in the cell's quantity.
struct CellValue {
  Cell cell;
  double value = 0;
};

class Benchmark {
 public:
  virtual ~Benchmark() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;  ///< one line
  virtual const std::vector<Axis>& axes() const = 0;

  /// True for a cell that only repeats another because one of its axes has no effect on it, e.g.
  /// `copy direction=d2d memory=pageable`. Such cells are left out of a sweep.
  virtual bool redundant(const Cell&) const { return false; }
  /// The cells that `cell` stands for on this device and team: the pairs behind `from=all to=all`,
  /// the number behind `ranks=all`. None if it stands for none here.
  virtual std::vector<Cell> expand(const Cell& cell, const Device&, const Team&) const {
    return {cell};
  }
  /// Whether the ranks of a team measure a cell together. Otherwise rank 0 measures it alone.
  virtual bool takes_team() const { return false; }
  /// Why this cell cannot be measured on this device (missing type, too little memory); empty: it
  /// can. Cheap: nothing is allocated.
  virtual std::optional<std::string> unsupported(const Cell& cell, const Device& device) const = 0;
  virtual Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const = 0;
  virtual std::vector<Conclusion> conclusions(std::span<const CellValue>) const { return {}; }
};

using BenchmarkRegistry = Registry<const Benchmark*>;

/// Every benchmark, sorted by name.
std::vector<const Benchmark*> benchmarks();
/// Null if there is none of that name.
const Benchmark* find_benchmark(std::string_view name);

}  // namespace assay
