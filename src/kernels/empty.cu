// A kernel that does nothing, to measure what launching costs.
#include "prelude.h"

KERNEL(empty, int) {}
