// Element-wise reductions of host memory, for communicators without a library that does them.
#pragma once

#include <cstddef>

#include "core/data_type.h"
#include "ranks/collective/communicator.h"

namespace assay {

/// Computes out[i] = a[i] op b[i], rounded once to `type`; integers wrap around, fp8 saturates, min
/// and max return a[i] if either is NaN. The three pointers may be equal. For `avg` it only adds;
/// call divide_elements() with the number of ranks after the last addition. tf32 counts as f32.
void reduce_elements(DataType type, Reduction reduction, void* out, const void* a, const void* b,
                     std::size_t count);

/// Computes values[i] /= divisor, rounded once to `type`; integers are rounded towards zero.
/// `divisor` is positive.
void divide_elements(DataType type, void* values, int divisor, std::size_t count);

}  // namespace assay
