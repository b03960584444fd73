// Element-wise reductions of host memory, for communicators without a library that does them.
#pragma once

#include <cstddef>

#include "core/data_type.h"
#include "ranks/collective/communicator.h"

namespace assay {

/// Computes out[i] = a[i] reduced with b[i], rounded once to `type`; integers wrap around, fp8
/// saturates. The three pointers may be equal. For `avg` it only adds; divide_elements() completes
/// it. tf32 is not supported, because no element in memory has this type.
void reduce_elements(DataType type, Reduction reduction, void* out, const void* a, const void* b,
                     std::size_t count);

/// Computes values[i] /= divisor, rounded once to `type`; integers are rounded towards zero.
void divide_elements(DataType type, void* values, int divisor, std::size_t count);

}  // namespace assay
