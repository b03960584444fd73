// Reads the engine clock: cycles and wall time at one moment on one multiprocessor. Two readings
// around a sample give the mean clock during it.
#include "prelude.h"

/// reading[0]: cycles, reading[1]: wall ticks. Launched with one small block per multiprocessor;
/// only the one on multiprocessor 0 writes, since cycle counters differ between multiprocessors.
KERNEL(read_clock, u64* reading) {
  if (thread_index() != 0 || multiprocessor_index() != 0) return;
  reading[0] = cycles();
  reading[1] = wall_ticks();
}
