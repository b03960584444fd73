// Kernels that measure the cost of launching: one does nothing, one proves that it ran.
#include "dialect.h"

KERNEL(empty, int) {}

/// Runs with one thread of one block. Launches on one stream run in order, so no atomic is needed.
KERNEL(increment, u32* counter) {
  *counter += 1;
}
