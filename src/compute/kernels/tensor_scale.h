// The scale of a tensor that is quantized with one factor. Kernels that produce such a tensor find
// its largest magnitude on the way.
#pragma once

#include "quantized.h"

namespace {

struct alignas(16) TensorScale {
  float factor;  // numbers are codes times this; libraries of matrix products read it
  u32 largest;   // the bits of the largest magnitude, raised from 0
};

/// The largest magnitude that a thread has seen. Infinities count. NaNs do not, because their codes
/// are NaNs whatever the factor is.
struct LargestMagnitude {
  float value = 0;

  DEVICE void see(Floats x) { value = largest_magnitude(x, value); }
  /// Raises scale->largest to what all threads of the block have seen; all of them call it.
  DEVICE void raise(TensorScale* scale) {
    SHARED float scratch[most_waves];
    value = block_reduce(value, Maximum{}, scratch);
    if (thread_index() == 0) atomic_max(&scale->largest, bits_of(value));
  }
};

}  // namespace
