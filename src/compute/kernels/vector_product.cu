// Product of a vector with a weight matrix, which is read once at the memory's speed; a wave
// computes two outputs at a time. The codes of a quantized matrix become numbers in registers.
// Neighbouring operations of a decoder are fused: the norm before the product, and a bias, an
// addition or SwiGLU after it.
#include "fast_math.h"
#include "quantized.h"

#define VECTOR_THREADS 256  // of a block
// The host varies the number of 16-byte loads of each matrix row that a lane has in flight (even),
// and the blocks per multiprocessor, which limits the registers that a thread has for these loads.
#ifndef VECTOR_AHEAD
#define VECTOR_AHEAD 4
#endif
#ifndef VECTOR_BLOCKS
#define VECTOR_BLOCKS 3
#endif

namespace {

constexpr u32 wave_outputs = 2;
static_assert(VECTOR_AHEAD % 2 == 0, "whole places of f32, which take two loads");

/// What a lane reads of a matrix row at a time: 16 bytes, or 32 of f32.
template <typename Element>
struct LanePack {
  // parts that are computed one after the other
  static constexpr u32 parts = sizeof(Element) == 1 ? 2 : 1;
  static constexpr u32 elements = parts * row_pack;
  static constexpr u32 ahead = VECTOR_AHEAD * 16 / (elements * sizeof(Element));
  typename CodesOf<Element>::template Raw<row_pack> part[parts];

  DEVICE static LanePack load(const Element* from) {
    using Words = Pack<u32, sizeof(LanePack) / sizeof(u32)>;
    return bits_as<LanePack>(load_streaming(reinterpret_cast<const Words*>(from)));
  }
};

/// Computes sum + a b, rounded once. Otherwise the compiler decides about fusing depending on the
/// rest of the loop, and the bits would change.
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

/// Calls body(pack, first element) for every pack of x; each thread loads several together.
template <typename T, typename Body>
DEVICE void for_each_loaded(const T* x, u64 elements, Body body) {
  constexpr u32 together = 4;
  const u64 stride = u64{block_threads()} * row_pack;
  for (u64 i = u64{thread_index()} * row_pack; i < elements; i += together * stride) {
    Pack<T, row_pack> packs[together];
    UNROLL_LOOP
    for (u32 j = 0; j < together; ++j) {
      if (i + j * stride < elements) packs[j] = load_pack<row_pack>(x + i + j * stride);
    }
    UNROLL_LOOP
    for (u32 j = 0; j < together; ++j) {
      if (i + j * stride < elements) body(packs[j], i + j * stride);
    }
  }
}

template <typename T>
DEVICE void copy_packs(T* to, const T* from, u64 elements) {
  for_each_loaded(from, elements,
                  [&](const Pack<T, row_pack>& pack, u64 i) { store_pack(to + i, pack); });
}

/// Computes normed = x divided by its root mean square, times the previous contents of normed; all
/// threads see the result.
template <typename T>
DEVICE void rms_norm(T* normed, const T* x, u64 inputs, float epsilon) {
  SHARED float scratch[most_waves];
  float squares = 0;
  for_each_loaded(x, inputs, [&](const Pack<T, row_pack>& pack, u64) {
    const Floats values = to_floats(pack);
    squares += (values * values).sum();
  });
  squares = block_reduce(squares, Sum{}, scratch);
  const float inverse = fast_rsqrt(squares / static_cast<float>(inputs) + epsilon);
  for_each_loaded(x, inputs, [&](const Pack<T, row_pack>& pack, u64 i) {
    // The number is rounded before the weight is applied, as models were trained.
    const Floats unit = to_floats(from_floats<T, row_pack>(to_floats(pack) * floats_of(inverse)));
    store_floats(normed + i, unit * load_floats(normed + i));
  });
  barrier();
}

/// Stores the results of output `first` and the next one from their sums `sums`; with `swiglu`,
/// both make one result.
template <typename T>
DEVICE void store_results(T* y, const T* bias, const float* sums, u64 first, u64 outputs, int add,
                          int swiglu) {
  if (swiglu != 0) {
    y[first] = encode<T>(silu(sums[0]) * sums[1]);
    return;
  }
  UNROLL_LOOP
  for (u32 o = 0; o < wave_outputs; ++o) {
    const u64 output = first + o;
    if (output >= outputs) continue;
    float value = sums[o];
    if (bias != nullptr) value += decode(bias[output]);
    if (add != 0) value += decode(y[output]);
    y[output] = encode<T>(value);
  }
}

template <typename T, typename Element>
DEVICE void vector_product(T* y, const T* x, const Element* matrix, const float* factors,
                           const T* norm, const T* bias, u64 outputs, u64 inputs, float epsilon,
                           int add, int swiglu) {
  using Raw = LanePack<Element>;
  constexpr u32 most_ahead = Raw::ahead;
  constexpr u64 stride = u64{wave_width} * Raw::elements, round = most_ahead * stride;
  const u32 waves = block_threads() / wave_width;
  // With SwiGLU, outputs j and outputs + j of the matrix make one element of y.
  const u64 results = swiglu != 0 ? outputs : (outputs + 1) / 2;
  // Returns the matrix line that output `o` of this wave needs in a tile.
  const auto line_of = [&](u64 tile, u32 o) -> u64 {
    const u64 result = tile + wave_index() < results ? tile + wave_index() : results - 1;
    if (swiglu != 0) return result + o * outputs;
    const u64 line = result * 2 + o;
    return line < outputs ? line : outputs - 1;
  };
  const Element* rows[wave_outputs];  // of the current tile
  Raw ahead[most_ahead][wave_outputs];
  const auto fetch = [&](u32 p, u32 o, const Element* row, u64 at) {
    if (at < inputs) ahead[p][o] = Raw::load(row + at);
  };
  const u64 begin = u64{lane_index()} * Raw::elements;
  const Tiles mine = my_tiles(results, waves);
  let_next_kernel_begin();  // the next kernel waits, too, before it touches this one's output
  if (mine.begin < mine.end) {  // while the previous kernel still runs
    UNROLL_LOOP
    for (u32 o = 0; o < wave_outputs; ++o) {
      rows[o] = matrix + line_of(mine.begin, o) * inputs;
      UNROLL_LOOP
      for (u32 p = 0; p < most_ahead; ++p) fetch(p, o, rows[o], begin + p * stride);
    }
  }
  T* const normed = static_cast<T*>(dynamic_shared());  // [inputs]
  if (norm != nullptr) copy_packs(normed, norm, inputs);
  wait_for_previous_kernel();
  if (norm != nullptr) rms_norm(normed, x, inputs, epsilon);
  const T* const vector = norm != nullptr ? normed : x;
  for (u64 tile = mine.begin; tile < mine.end; tile += mine.step) {
    const bool is_last = tile + mine.step >= mine.end;
    const Element* following[wave_outputs];  // of the next tile
    Floats products[wave_outputs];           // summed in a fixed order
    UNROLL_LOOP
    for (u32 o = 0; o < wave_outputs; ++o) {
      following[o] = matrix + line_of(tile + mine.step, o) * inputs;
      products[o] = floats_of(0);
    }
    for (u64 from = begin; from < inputs; from += round) {
      // A pack that has been used is replaced by one of the next round, possibly of the next tile.
      // So a wave never waits for all its packs at once.
      const bool ends = from + round >= inputs;
      const u64 next = !ends ? from + round : is_last ? inputs : begin;
      UNROLL_LOOP
      for (u32 p = 0; p < most_ahead; ++p) {
        const u64 i = from + p * stride;
        if (i < inputs) {
          UNROLL_LOOP
          for (u32 part = 0; part < Raw::parts; ++part) {
            const Floats values = load_floats(vector + i + part * row_pack);
            UNROLL_LOOP
            for (u32 o = 0; o < wave_outputs; ++o) {
              products[o] = add_products(
                  products[o], values,
                  CodesOf<Element>::template numbers<row_pack>(ahead[p][o].part[part]));
            }
          }
        }
        UNROLL_LOOP
        for (u32 o = 0; o < wave_outputs; ++o) {
          fetch(p, o, ends ? following[o] : rows[o], next + p * stride);
        }
      }
    }
    float sums[wave_outputs];
    UNROLL_LOOP
    for (u32 o = 0; o < wave_outputs; ++o) {
      sums[o] = wave_reduce(products[o].sum(), Sum{});
      rows[o] = following[o];
    }
    if (lane_index() != 0 || tile + wave_index() >= results) continue;
    UNROLL_LOOP
    for (u32 o = 0; o < wave_outputs; ++o) {
      if (factors != nullptr) sums[o] *= factors[line_of(tile, o)];
    }
    store_results(y, bias, sums, line_of(tile, 0), outputs, add, swiglu);
  }
}

}  // namespace

/// Computes y[outputs] = x[inputs] times the transpose of matrix[outputs, inputs]. If the matrix
/// holds codes, its rows have `factors`[outputs]. With `norm`[inputs], x is first divided by its
/// root mean square and multiplied by `norm`, in dynamic shared memory. `bias`[outputs] may be
/// null. With `add` the product is added to y. With `swiglu`, the matrix has twice as many rows and
/// factors, and y = silu(first half) * second half. `inputs` is a multiple of 8, with codes of 16.
#define VECTOR_KERNEL(T, suffix, Element, name)                                                  \
  KERNEL_OF(VECTOR_THREADS, VECTOR_BLOCKS, name##_##suffix, T* y, const T* x,                    \
            const Element* matrix, const float* factors, const T* norm, const T* bias,           \
            u64 outputs, u64 inputs, float epsilon, int add, int swiglu) {                       \
    vector_product(y, x, matrix, factors, norm, bias, outputs, inputs, epsilon, add, swiglu);    \
  }
#if !defined(VECTOR_ONE) || defined(VECTOR_OF_numbers)
VECTOR_KERNEL(float, f32, float, vector_product)
VECTOR_KERNEL(Bf16, bf16, Bf16, vector_product)
#endif
#if !defined(VECTOR_ONE) || defined(VECTOR_OF_e4m3)
VECTOR_KERNEL(float, f32, E4m3, vector_product_e4m3)
VECTOR_KERNEL(Bf16, bf16, E4m3, vector_product_e4m3)
#endif
#if !defined(VECTOR_ONE) || defined(VECTOR_OF_e4m3_fnuz)
VECTOR_KERNEL(float, f32, E4m3Fnuz, vector_product_e4m3_fnuz)
VECTOR_KERNEL(Bf16, bf16, E4m3Fnuz, vector_product_e4m3_fnuz)
#endif
#if !defined(VECTOR_ONE) || defined(VECTOR_OF_i8)
VECTOR_KERNEL(float, f32, i8, vector_product_i8)
VECTOR_KERNEL(Bf16, bf16, i8, vector_product_i8)
#endif
