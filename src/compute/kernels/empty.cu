// For the cost of launching: a kernel that does nothing, and one that proves it ran.
#include "dialect.h"

KERNEL(empty, int) {}

/// One thread of one block; launches on one stream run in order, so no atomic is needed.
KERNEL(increment, u32* counter) {
  *counter += 1;
}
