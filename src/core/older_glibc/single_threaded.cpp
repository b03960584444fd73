#include "core/older_glibc/functions.h"

[[gnu::visibility("hidden")]] char assay_single_threaded = 0;
