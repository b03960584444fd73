// Reductions of host memory, element by element, for communicators that have no library to do them.
#pragma once

#include <cstddef>

#include "core/data_type.h"
#include "ranks/collective/communicator.h"

namespace assay {

/// out[i] = a[i] reduced with b[i], rounded once to `type`; integers wrap around, fp8 saturates.
/// The three may be the same. `avg` adds, and divide_elements() finishes it. Not for tf32, which is
/// no type of memory.
void reduce_elements(DataType type, Reduction reduction, void* out, const void* a, const void* b,
                     std::size_t count);

/// values[i] /= divisor, rounded once to `type`; integers towards zero.
void divide_elements(DataType type, void* values, int divisor, std::size_t count);

}  // namespace assay
