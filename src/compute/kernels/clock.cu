// Reads the engine clock: cycles and wall time at one moment on one multiprocessor. Two readings
// around a sample give the mean clock during it.
#include "dialect.h"

/// Sets present[i] for every multiprocessor i < n that a block ran on.
KERNEL(mark_multiprocessors, u32* present, u32 n) {
  const u32 index = multiprocessor_index();
  if (thread_index() == 0 && index < n) present[index] = 1;
}

/// reading[0]: cycles, reading[1]: wall ticks. Launched with one small block per multiprocessor;
/// only the one on `multiprocessor` writes, because cycle counters differ between multiprocessors.
KERNEL(read_clock, u64* reading, u32 multiprocessor) {
  if (thread_index() != 0 || multiprocessor_index() != multiprocessor) return;
  // Read both before storing either: a store in between would add its latency.
  const u64 cycle = cycles(), tick = wall_ticks();
  reading[0] = cycle;
  reading[1] = tick;
}
