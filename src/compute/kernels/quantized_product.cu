// The product of a vector with a quantized matrix, whose codes are read once and become numbers in
// registers: half of what vector_product.cu reads. A wave computes two outputs at a time.
#include "quantized.h"
#include "vector_product.h"

namespace {

constexpr u32 wave_outputs = 2;
constexpr u32 code_pack = 16;  // codes of one access: 16 bytes
constexpr u32 code_packs_ahead = VECTOR_AHEAD;

/// The codes of one access, as the two halves that are computed with.
template <typename Code>
struct CodeHalves {
  typename CodesOf<Code>::template Raw<row_pack> half[code_pack / row_pack];
};

/// The two matrix rows of a wave's outputs, whose first packs are on their way.
template <typename Code>
struct CodeRows {
  using Raw = Pack<u32, code_pack / 4>;
  static constexpr u64 stride = u64{wave_width} * code_pack;
  const Code* row[wave_outputs];
  Raw ahead[code_packs_ahead][wave_outputs];

  DEVICE void fetch(u64 from, u64 inputs) {
    UNROLL_LOOP
    for (u32 p = 0; p < code_packs_ahead; ++p) {
      const u64 i = from + p * stride;
      if (i >= inputs) continue;
      UNROLL_LOOP
      for (u32 o = 0; o < wave_outputs; ++o) {
        ahead[p][o] = load_streaming(reinterpret_cast<const Raw*>(row[o] + i));
      }
    }
  }
};

template <typename T, typename Code>
DEVICE void quantized_product(T* y, const T* x, const Code* codes, const float* factors,
                              const T* norm, const T* bias, u64 outputs, u64 inputs, float epsilon,
                              int add, int swiglu) {
  using Rows = CodeRows<Code>;
  const u32 waves = block_threads() / wave_width;
  // With SwiGLU, outputs j and outputs + j of the matrix make one of y.
  const u64 results = swiglu != 0 ? outputs : (outputs + 1) / 2;
  const u64 begin = u64{lane_index()} * code_pack;
  Rows rows;
  const auto first_of = [&](u64 tile) {
    const u64 result = tile + wave_index() < results ? tile + wave_index() : results - 1;
    return swiglu != 0 ? result : result * 2;
  };
  const auto second_of = [&](u64 first) {
    return swiglu != 0 ? first + outputs : first + 1 < outputs ? first + 1 : first;
  };
  const auto fetch_first = [&](u64 tile) {
    const u64 first = first_of(tile);
    rows.row[0] = codes + first * inputs;
    rows.row[1] = codes + second_of(first) * inputs;
    rows.fetch(begin, inputs);
  };
  const Tiles mine = my_tiles(results, waves);
  let_next_kernel_begin();  // it waits in turn before it touches what this one writes
  if (mine.begin < mine.end) {  // while the kernel before this one still runs
    fetch_first(mine.begin);
    UNROLL_LOOP
    for (u32 o = 0; o < wave_outputs; ++o) fetch_early(rows.row[o], inputs * sizeof(Code));
  }
  wait_for_previous_kernel();
  T* const normed = static_cast<T*>(dynamic_shared());  // [inputs], with a norm
  if (norm != nullptr) rms_norm(normed, x, norm, inputs, epsilon);
  const T* const vector = norm != nullptr ? normed : x;
  for (u64 tile = mine.begin; tile < mine.end; tile += mine.step) {
    Floats products[wave_outputs];  // summed in one order, however many packs are ahead
    UNROLL_LOOP
    for (u32 o = 0; o < wave_outputs; ++o) products[o] = floats_of(0);
    for (u64 from = begin; from < inputs; from += code_packs_ahead * Rows::stride) {
      UNROLL_LOOP
      for (u32 p = 0; p < code_packs_ahead; ++p) {
        const u64 i = from + p * Rows::stride;
        if (i >= inputs) continue;
        UNROLL_LOOP
        for (u32 h = 0; h < code_pack / row_pack; ++h) {
          const Floats values = load_floats(vector + i + h * row_pack);
          UNROLL_LOOP
          for (u32 o = 0; o < wave_outputs; ++o) {
            const auto halves = bits_as<CodeHalves<Code>>(rows.ahead[p][o]);
            products[o] =
                add_products(products[o], values,
                             CodesOf<Code>::template numbers<row_pack>(halves.half[h]));
          }
        }
      }
      rows.fetch(from + code_packs_ahead * Rows::stride, inputs);
    }
    const u64 first = first_of(tile);
    if (tile + mine.step < mine.end) fetch_first(tile + mine.step);
    float sums[wave_outputs];
    UNROLL_LOOP
    for (u32 o = 0; o < wave_outputs; ++o) sums[o] = wave_reduce(products[o].sum(), Sum{});
    if (lane_index() != 0 || tile + wave_index() >= results) continue;
    sums[0] *= factors[first];
    sums[1] *= factors[second_of(first)];
    store_results(y, bias, sums, first, outputs, add, swiglu);
  }
}

}  // namespace

/// As vector_product.cu, with the matrix as codes[outputs, inputs] times factors[outputs] of its
/// rows; twice as many of both with `swiglu`. `inputs` is a multiple of 16.
#define QUANTIZED_KERNEL(T, suffix, Code, code)                                                 \
  KERNEL_OF(VECTOR_THREADS, VECTOR_BLOCKS, quantized_product_##code##_##suffix, T* y, const T* x,           \
            const Code* codes, const float* factors, const T* norm, const T* bias, u64 outputs, \
            u64 inputs, float epsilon, int add, int swiglu) {                                   \
    quantized_product(y, x, codes, factors, norm, bias, outputs, inputs, epsilon, add, swiglu); \
  }
QUANTIZED_KERNEL(float, f32, E4m3, e4m3)
QUANTIZED_KERNEL(float, f32, E4m3Fnuz, e4m3_fnuz)
QUANTIZED_KERNEL(float, f32, i8, i8)
QUANTIZED_KERNEL(Bf16, bf16, E4m3, e4m3)
QUANTIZED_KERNEL(Bf16, bf16, E4m3Fnuz, e4m3_fnuz)
QUANTIZED_KERNEL(Bf16, bf16, i8, i8)
