// GELU in its tanh form and ReLU, their gradients, and bias additions, for matrix libraries that
// lack such an epilogue.
#include "fast_math.h"
#include "rows.h"
#include "tensor_scale.h"

namespace {

constexpr float gelu_linear = 0.7978845608f;  // sqrt(2 / pi)
constexpr float gelu_cubic = 0.044715f;

DEVICE float gelu_of(float x) {
  return 0.5f * x * (1 + fast_tanh(gelu_linear * (x + gelu_cubic * x * x * x)));
}
DEVICE float gelu_slope(float x) {
  const float t = fast_tanh(gelu_linear * (x + gelu_cubic * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * gelu_linear * (1 + 3 * gelu_cubic * x * x);
}

template <typename T>
DEVICE void gelu(T* y, const T* x, u64 elements) {
  for_each_pack_of_all(elements, [&](u64 i) {
    Floats values = load_floats(x + i);
    UNROLL_LOOP
    for (int e = 0; e < row_pack; ++e) values.v[e] = gelu_of(values.v[e]);
    store_floats(y + i, values);
  });
}

template <typename T>
DEVICE void gelu_backward(T* d, const T* x, u64 elements) {
  for_each_pack_of_all(elements, [&](u64 i) {
    const Floats inputs = load_floats(x + i);
    Floats values = load_floats(d + i);
    UNROLL_LOOP
    for (int e = 0; e < row_pack; ++e) values.v[e] = values.v[e] * gelu_slope(inputs.v[e]);
    store_floats(d + i, values);
  });
}

template <typename T>
DEVICE void relu(T* x, u64 elements) {
  for_each_pack_of_all(elements, [&](u64 i) {
    Floats values = load_floats(x + i);
    UNROLL_LOOP
    for (int e = 0; e < row_pack; ++e) values.v[e] = values.v[e] < 0 ? 0.0f : values.v[e];
    store_floats(x + i, values);
  });
}

template <typename T>
DEVICE void relu_backward(T* d, const T* y, u64 elements) {
  for_each_pack_of_all(elements, [&](u64 i) {
    const Floats results = load_floats(y + i);
    Floats values = load_floats(d + i);
    UNROLL_LOOP
    for (int e = 0; e < row_pack; ++e) values.v[e] = results.v[e] > 0 ? values.v[e] : 0.0f;
    store_floats(d + i, values);
  });
}

template <typename T>
DEVICE void add_bias(T* x, const T* bias, u64 rows, u64 width) {
  for_each_pack_of_all(rows * width, [&](u64 i) {
    store_floats(x + i, load_floats(x + i) + load_floats(bias + i % width));
  });
}

/// SwiGLU of the pack at `gates`; its other factor is `width` elements behind it.
template <typename T>
DEVICE Pack<T, row_pack> swiglu_of(const T* gates, u64 width) {
  Floats values = load_floats(gates);
  UNROLL_LOOP
  for (int e = 0; e < row_pack; ++e) values.v[e] = silu(values.v[e]);
  return from_floats<T, row_pack>(to_floats(from_floats<T, row_pack>(values)) *
                                  load_floats(gates + width));
}

/// Reads a row twice, the second time from the device's caches, because rows differ in width.
template <typename T, typename Code>
DEVICE void quantized_swiglu(Code* codes, float* factors, const T* x, u64 rows, u64 width) {
  SHARED float scratch[most_waves];
  const Tiles mine = my_tiles(rows, 1);
  let_next_kernel_begin();  // it may prefetch, but waits before it touches this output
  wait_for_previous_kernel();
  for (u64 row = mine.begin; row < mine.end; row += mine.step) {
    const T* const gates = x + row * 2 * width;
    float largest = 0;
    for_each_pack(width, [&](u64 i) {
      largest = largest_magnitude(to_floats(swiglu_of(gates + i, width)), largest);
    });
    const auto scale = RowScale<Code>::of(block_reduce(largest, Maximum{}, scratch));
    for_each_pack(width, [&](u64 i) {
      store_floats(codes + row * width + i,
                   to_floats(swiglu_of(gates + i, width)) * floats_of(scale.inverse));
    });
    if (thread_index() == 0) factors[row] = scale.factor;
    barrier();  // scratch is free for the next row
  }
}

template <typename T>
DEVICE void swiglu(T* y, const T* x, u64 rows, u64 width, TensorScale* scale) {
  LargestMagnitude largest;
  // No array has 2^32 packs, and a 64-bit division would take longer than everything else.
  const u32 packs_of_row = static_cast<u32>(width / row_pack);
  for_each_pack_of_all(rows * width, [&](u64 i) {
    const u64 row = static_cast<u32>(i / row_pack) / packs_of_row;
    const Pack<T, row_pack> result = swiglu_of(x + i + row * width, width);
    store_pack(y + i, result);
    if (scale != nullptr) largest.see(to_floats(result));
  });
  if (scale != nullptr) largest.raise(scale);
}

template <typename T>
DEVICE void swiglu_backward(T* d, const T* dy, const T* x, u64 rows, u64 width,
                            TensorScale* scale) {
  LargestMagnitude largest;
  const u32 packs_of_row = static_cast<u32>(width / row_pack);
  for_each_pack_of_all(rows * width, [&](u64 i) {
    const u64 row = static_cast<u32>(i / row_pack) / packs_of_row, at = i + row * width;
    const Floats outer = load_floats(dy + i), gates = load_floats(x + at),
                 ups = load_floats(x + at + width);
    Floats of_gate, of_up;
    UNROLL_LOOP
    for (int e = 0; e < row_pack; ++e) {
      const float gate = gates.v[e], s = sigmoid(gate);
      of_up.v[e] = outer.v[e] * gate * s;
      of_gate.v[e] = outer.v[e] * ups.v[e] * s * (1 + gate * (1 - s));
    }
    const Pack<T, row_pack> to_gate = from_floats<T, row_pack>(of_gate),
                            to_up = from_floats<T, row_pack>(of_up);
    store_pack(d + at, to_gate);
    store_pack(d + at + width, to_up);
    if (scale == nullptr) return;
    largest.see(to_floats(to_gate));
    largest.see(to_floats(to_up));
  });
  if (scale != nullptr) largest.raise(scale);
}

}  // namespace

/// gelu: y = gelu(x). gelu_backward: d *= gelu'(x). relu: x = max(x, 0); NaNs are kept.
/// relu_backward: d = 0 where y is not above 0. add_bias: x[rows, width] += bias[width]. swiglu:
/// y[rows, width] = silu(first half) * (second half) of each row of x[rows, 2 width].
/// swiglu_backward: d[rows, 2 width] = the gradient of x from that of y. Unless null,
/// scale->largest is raised to the largest magnitude of the result.
#define ACTIVATION_KERNELS(T, suffix)                                                  \
  KERNEL(gelu_##suffix, T* y, const T* x, u64 elements) {                              \
    gelu(y, x, elements);                                                              \
  }                                                                                    \
  KERNEL(gelu_backward_##suffix, T* d, const T* x, u64 elements) {                     \
    gelu_backward(d, x, elements);                                                     \
  }                                                                                    \
  KERNEL(relu_##suffix, T* x, u64 elements) {                                          \
    relu(x, elements);                                                                 \
  }                                                                                    \
  KERNEL(relu_backward_##suffix, T* d, const T* y, u64 elements) {                     \
    relu_backward(d, y, elements);                                                     \
  }                                                                                    \
  KERNEL(add_bias_##suffix, T* x, const T* bias, u64 rows, u64 width) {                \
    add_bias(x, bias, rows, width);                                                    \
  }                                                                                    \
  KERNEL(swiglu_##suffix, T* y, const T* x, u64 rows, u64 width, TensorScale* scale) { \
    swiglu(y, x, rows, width, scale);                                                  \
  }                                                                                    \
  KERNEL(swiglu_backward_##suffix, T* d, const T* dy, const T* x, u64 rows, u64 width, \
         TensorScale* scale) {                                                         \
    swiglu_backward(d, dy, x, rows, width, scale);                                     \
  }

/// SwiGLU of x[rows, 2 width] as codes[rows, width] with factors[rows], as quantize_rows.cu makes them
/// from its result.
#define QUANTIZED_SWIGLU_KERNEL(Code, code)                                                        \
  KERNEL(swiglu_##code##_bf16, Code* codes, float* factors, const Bf16* x, u64 rows, u64 width) { \
    quantized_swiglu(codes, factors, x, rows, width);                                              \
  }
QUANTIZED_SWIGLU_KERNEL(E4m3, e4m3)
QUANTIZED_SWIGLU_KERNEL(E4m3Fnuz, e4m3_fnuz)

ACTIVATION_KERNELS(float, f32)
ACTIVATION_KERNELS(Bf16, bf16)
ACTIVATION_KERNELS(F16, f16)
