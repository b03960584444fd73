// What stands around the product of a vector in a decoder: the norm before it, and a bias, a sum or
// SwiGLU after it.
#pragma once

#include "fast_math.h"
#include "rows.h"

#define VECTOR_THREADS 256  // of a block
// What the host varies: packs of each matrix row on their way to a lane, how many blocks leave each
// thread as many registers as it needs for them, and KiB of a row that are brought into the
// device's cache at once, on Hopper.
#ifndef VECTOR_AHEAD
#define VECTOR_AHEAD 4
#endif
#ifndef VECTOR_BLOCKS
#define VECTOR_BLOCKS 3
#endif
#ifndef VECTOR_EARLY
#define VECTOR_EARLY 0
#endif

namespace {

/// Begins to bring the first KiB of a matrix row into the device's cache, while the kernels before
/// this one leave the memory idle. Once for a wave.
DEVICE void fetch_early(const void* row, u64 bytes) {
#if defined(ON_HOPPER) && VECTOR_EARLY > 0
  constexpr u64 most = u64{VECTOR_EARLY} << 10;
  if (lane_index() != 0) return;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(row),
               "r"(static_cast<u32>(bytes < most ? bytes : most))
               : "memory");
#else
  (void)row;
  (void)bytes;
#endif
}

/// sum + a b, rounded once: what compilers do with a product and a sum depends on what else the
/// loop holds, and so would the bits.
DEVICE Floats add_products(const Floats& sum, const Floats& a, const Floats& b) {
  Floats result;
  UNROLL_LOOP
  for (int i = 0; i < row_pack; ++i) {
#if defined(ON_CUDA)
    result.v[i] = fmaf(a.v[i], b.v[i], sum.v[i]);
#else
    result.v[i] = __builtin_fmaf(a.v[i], b.v[i], sum.v[i]);
#endif
  }
  return result;
}

/// normed = x by its root mean square, times norm; seen by all threads.
template <typename T>
DEVICE void rms_norm(T* normed, const T* x, const T* norm, u64 inputs, float epsilon) {
  SHARED float scratch[most_waves];
  float squares = 0;
  for_each_pack(inputs, [&](u64 i) {
    const Floats values = load_floats(x + i);
    squares += (values * values).sum();
  });
  squares = block_reduce(squares, Sum{}, scratch);
  const float inverse = fast_rsqrt(squares / static_cast<float>(inputs) + epsilon);
  for_each_pack(inputs, [&](u64 i) {  // rounded before the weight, as models were trained
    const Floats unit =
        to_floats(from_floats<T, row_pack>(load_floats(x + i) * floats_of(inverse)));
    store_floats(normed + i, unit * load_floats(norm + i));
  });
  barrier();
}

/// Stores the results of outputs `first` and the next one, whose products are `sums`; with
/// `swiglu`, one result of both.
template <typename T>
DEVICE void store_results(T* y, const T* bias, const float* sums, u64 first, u64 outputs, int add,
                          int swiglu) {
  if (swiglu != 0) {
    y[first] = encode<T>(silu(sums[0]) * sums[1]);
    return;
  }
  UNROLL_LOOP
  for (u32 o = 0; o < 2; ++o) {
    const u64 output = first + o;
    if (output >= outputs) continue;
    float value = sums[o];
    if (bias != nullptr) value += decode(bias[output]);
    if (add != 0) value += decode(y[output]);
    y[output] = encode<T>(value);
  }
}

}  // namespace
