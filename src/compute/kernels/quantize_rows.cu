// Quantizes matrices to one-byte codes with a factor for each row, and back; and scales products of
// such codes.
#include "quantized.h"

namespace {

template <typename T, typename Code>
DEVICE void quantize_rows(Code* codes, float* factors, const T* x, u64 rows, u64 width) {
  SHARED float scratch[most_waves];
  const Tiles mine = my_tiles(rows, 1);
  let_next_kernel_begin();  // it may prefetch, but waits before it touches this output
  wait_for_previous_kernel();
  for (u64 row = mine.begin; row < mine.end; row += mine.step) {
    const T* const from = x + row * width;
    float largest = 0;
    for_each_pack(width,
                  [&](u64 i) { largest = largest_magnitude(load_floats(from + i), largest); });
    const auto scale = RowScale<Code>::of(block_reduce(largest, Maximum{}, scratch));
    const Floats inverse = floats_of(scale.inverse);
    for_each_pack(width, [&](u64 i) {
      const Floats scaled = load_floats(from + i) * inverse;
      if constexpr (same<Code, i8>) {
        Pack<i8, row_pack> rounded;
        UNROLL_LOOP
        for (int e = 0; e < row_pack; ++e) rounded.v[e] = encode<i8>(scaled.v[e]);
        store_pack(codes + row * width + i, rounded);
      } else {
        store_floats(codes + row * width + i, scaled);
      }
    });
    if (thread_index() == 0) factors[row] = scale.factor;
    barrier();  // scratch is free for the next row
  }
}

template <typename T, typename Code>
DEVICE void dequantize_rows(T* y, const Code* codes, const float* factors, u64 rows, u64 width) {
  using Raw = typename CodesOf<Code>::template Raw<row_pack>;
  const u64 row_packs = width / row_pack;
  const Tiles tiles = my_tiles(rows * row_packs, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= rows * row_packs) continue;
    const Floats factor = floats_of(factors[i / row_packs]);
    const auto raw = *reinterpret_cast<const Raw*>(codes + i * row_pack);
    store_floats(y + i * row_pack, CodesOf<Code>::template numbers<row_pack>(raw) * factor);
  }
}

}  // namespace

/// quantize, for each row of x[rows, width]: factors[row] = max|x| / max|code|, and codes = x /
/// factors[row], rounded to nearest; a row of zeros stays zero. dequantize: y = codes * the row's
/// factor.
#define QUANTIZED_KERNELS(T, suffix, Code, code)                                                \
  KERNEL(quantize_##code##_##suffix, Code* codes, float* factors, const T* x, u64 rows,         \
         u64 width) {                                                                           \
    quantize_rows(codes, factors, x, rows, width);                                              \
  }                                                                                             \
  KERNEL(dequantize_##code##_##suffix, T* y, const Code* codes, const float* factors, u64 rows, \
         u64 width) {                                                                           \
    dequantize_rows(y, codes, factors, rows, width);                                            \
  }

/// y[rows, width] = y * row_factors[rows] * column_factors[width] + bias[width]; the bias may be null.
KERNEL(scale_product_bf16, Bf16* y, const float* row_factors, const float* column_factors,
       const Bf16* bias, u64 rows, u64 width) {
  const u32 row_packs = static_cast<u32>(width / row_pack);
  for_each_pack_of_all(rows * width, [&](u64 i) {
    const u32 pack = static_cast<u32>(i / row_pack), row = pack / row_packs;
    const u64 column = u64{pack % row_packs} * row_pack;
    Floats values =
        load_floats(y + i) * (load_floats(column_factors + column) * floats_of(row_factors[row]));
    if (bias != nullptr) values = values + load_floats(bias + column);
    store_floats(y + i, values);
  });
}

QUANTIZED_KERNELS(float, f32, E4m3, e4m3)
QUANTIZED_KERNELS(float, f32, E4m3Fnuz, e4m3_fnuz)
QUANTIZED_KERNELS(float, f32, i8, i8)
QUANTIZED_KERNELS(Bf16, bf16, E4m3, e4m3)
QUANTIZED_KERNELS(Bf16, bf16, E4m3Fnuz, e4m3_fnuz)
QUANTIZED_KERNELS(Bf16, bf16, i8, i8)
