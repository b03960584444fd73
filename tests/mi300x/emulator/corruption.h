// Wrong bits on demand, as a defective chip gives them. The virtual machine stops at faults of
// programs (fault.h); these are faults of the chip, of which nobody is told.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/instruction.h"

namespace mi300x {

enum class CorruptionKind {
  none,
  vgpr,   ///< a bit of a lane of a vector register is stuck in some workgroups
  lds,    ///< a bit of LDS flips when LDS is accessed
  hbm,    ///< a bit of memory flips when it is read, and stays wrong
  mfma,   ///< a bit of a matrix instruction's result is wrong
  store,  ///< a store of a wave is lost
  stale,  ///< a load of a wave returns what was there before the last write
};

/// Events of the kind (an instruction; a workgroup of vgpr) that are hit. A load that would return
/// the same bytes is no event of `stale`.
struct CorruptionPlan {
  CorruptionKind kind = CorruptionKind::none;
  double rate = 0;  ///< the probability of each event
  u64 nth = 0;      ///< instead only this event, from 1; 0: as `rate` says
  u64 seed = 1;
  std::string spared = {};  ///< kernels whose names begin so are never hit
};
/// The kind of that name, or none.
CorruptionKind corruption_kind(std::string_view name);

/// Memory, with what a cache holds that missed the last write to each of its lines. Writes are
/// told apart by launches.
class StaleMemory {
 public:
  struct Piece {
    u64 begin = 0;
    std::vector<char> bytes;
  };
  /// Takes all memory as it is when a launch begins.
  void take(std::vector<Piece> now);
  /// Returns what is held of these bytes; null if nothing is known.
  const char* find(u64 address, std::size_t bytes) const;

 private:
  static constexpr std::size_t line = 128;  // bytes, as in the L2 of an MI300X
  std::vector<Piece> last_, held_;          // in the same order, of the same sizes
};

/// The plan of this process, and what it did.
class Corruption {
 public:
  static Corruption& instance();

  void plan(CorruptionPlan plan);
  const CorruptionPlan& plan() const { return plan_; }
  /// Called when a launch that is not spared begins. `now` is a copy of memory, needed for stale
  /// reads only.
  void begin_launch(std::vector<StaleMemory::Piece> now);
  bool keeps_memory() const { return plan_.kind == CorruptionKind::stale; }
  u64 launch() const { return launch_; }
  bool concerns(const std::string& kernel) const;

  /// Takes an event: returns whether it is hit. `random` is a random number of the event.
  bool takes(u64 random);
  u64 count() const { return count_; }    ///< events that were hit
  u64 events() const { return events_; }  ///< all events

  const StaleMemory& stale() const { return stale_; }

 private:
  CorruptionPlan plan_;
  std::atomic<u64> launch_ = 0, count_ = 0, events_ = 0;
  StaleMemory stale_;
};

/// What the load that this thread executes gets wrong. It is asked for each access to memory.
/// `compared` gets nothing wrong, and learns whether a stale load would return other bytes.
enum class LoadFault : u8 { none, compared, stale, hbm };
inline thread_local LoadFault load_fault = LoadFault::none;
inline thread_local u64 load_fault_random = 0;
inline thread_local bool stale_load_differs = false;
/// Returns where the load reads instead of `address`, after flipping a bit there for hbm.
const char* faulty_load(char* address, std::size_t bytes);

}  // namespace mi300x
