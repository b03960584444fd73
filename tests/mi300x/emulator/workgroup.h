// A workgroup: its LDS, its waves, and how they take turns.
#pragma once

#include <memory>
#include <vector>

#include "emulator/code_object.h"
#include "emulator/local_memory.h"
#include "emulator/wave.h"

namespace mi300x {

class Dispatch;  // dispatch.h: what all workgroups of a launch share

/// The hardware numbers of the unit on which a workgroup runs (HW_REG_XCC_ID, HW_REG_HW_ID).
struct Place {
  unsigned die = 0, engine = 0, unit = 0;  ///< `unit` is numbered within its shader engine
};

/// What one host thread executed for a launch; the tallies are summed when the launch has ended.
struct Tally {
  std::vector<u64> executions;  ///< of each instruction of the code object
  u64 global_bytes = 0;         ///< moved by all lanes to and from global memory
  u64 longest_wave = 0;         ///< in cycles
  u64 instructions = 0;
};

class Workgroup {
 public:
  explicit Workgroup(const Dispatch& dispatch);
  ~Workgroup();

  /// Sets up the registers and the memory of workgroup `number` as the hardware and the packet
  /// processor do; everything else is garbage derived from the seed.
  void begin(u64 number);

  enum class Progress {
    ended,
    ran,    ///< the budget was used up
    slept,  ///< the waves mostly executed s_sleep, because they wait for other work
  };
  /// Lets the waves execute about `budget` instructions. Throws Fault with its location.
  Progress run(u64 budget, Tally& tally);
  /// Throws a fault located at the last executed instruction.
  [[noreturn]] void fail(const Fault& fault) const;

  LocalMemory& local() { return local_; }
  const CodeObject& code() const;
  const Chip& chip() const;
  const Dimensions& id() const { return id_; }
  Place place() const;
  u64 host_nanoseconds() const;  ///< of the host's steady clock, since the launch began

 private:
  struct WaveStorage;

  void begin_wave(unsigned index);
  void set_scalar_registers(Wave& wave) const;
  void set_item_ids(Wave& wave) const;
  void step(Wave& wave, u64 slice, Tally& tally);
  void begin_corruption();
  /// Returns whether a load would get other bytes if it got what was there before the last write.
  static bool stale_load_would_differ(Wave& wave, const Instruction& instruction);
  /// Executes an instruction as a defective chip does.
  void execute_wrongly(Wave& wave, const Instruction& instruction);
  void meet_barrier(const Wave& wave) const;
  void release_barrier();

  const Dispatch& dispatch_;
  LocalMemory local_;
  u64 number_ = 0;
  Dimensions id_;
  std::vector<std::unique_ptr<WaveStorage>> waves_;
  std::vector<unsigned> runnable_;  ///< waves that have neither ended nor reached the barrier
  unsigned ended_ = 0;
  u64 random_ = 1;         ///< chooses the next wave and its slice
  u64 sleeps_ = 0;         ///< number of s_sleep executed in this budget
  bool corrupts_ = false;  ///< whether Corruption concerns this launch
  bool sticks_ = false;    ///< whether a bit of this workgroup's registers is stuck
  u64 corruption_random_ = 1;
  unsigned last_wave_ = 0;
  u32 last_instruction_ = 0;  ///< index of the instruction that is being executed
};

}  // namespace mi300x
