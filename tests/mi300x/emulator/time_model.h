// The model time of a launch, from issue rates and bandwidths; never a measurement. It models no
// caches, no bank conflicts, and no latency except that of the launch.
#pragma once

#include "emulator/code_object.h"
#include "emulator/wave.h"

namespace mi300x {

/// The cost of one execution of an instruction by a wave.
struct Price {
  u16 cycles = 4;       ///< cycles of the unit that executes it
  u8 global_bytes = 0;  ///< bytes that each active lane moves to or from global memory
  bool sleeps = false;  ///< s_sleep: the wave waits for another one or for the host
};
Price price(const Instruction& instruction, const std::string& arch);

/// Returns how many workgroups of `waves` waves fit on one compute unit; 0 if not even one fits.
unsigned groups_per_unit(const KernelInfo& kernel, unsigned waves, u64 shared_bytes,
                         const Chip& chip);

/// The work of a launch, in cycles summed over all waves, by the unit that is busy.
struct Work {
  u64 scalar = 0, vector = 0, matrix = 0;  ///< one of each per SIMD
  u64 local = 0, global = 0;               ///< one of each per compute unit
  u64 global_bytes = 0;
  u64 longest_wave = 0;  ///< cycles of the wave that took longest
  u64 groups = 0;
  /// Adds `executions` of an instruction.
  void add(const Instruction& instruction, const Price& price, u64 executions);
};
double seconds(const Work& work, const Chip& chip);

}  // namespace mi300x
