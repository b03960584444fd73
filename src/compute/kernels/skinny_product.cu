// Products of a few rows with a weight matrix, which read the matrix once at the memory's speed: a
// wave computes two outputs of all rows. What stands around such a product in a decoder is joined
// with it: the norm before it, and a bias, a sum or SwiGLU after it.
#include "fast_math.h"
#include "rows.h"

#define SKINNY_THREADS 256  // of a block

namespace {

constexpr u32 skinny_outputs = 2;  // of a wave
constexpr u32 skinny_packs = 4;    // of each of its matrix rows in flight per lane

struct SkinnyExtent {
  u64 rows, outputs, inputs;
};

/// 1 / the root mean square of each row of x, in all threads.
template <typename T, int ROWS>
DEVICE void inverse_roots(float* inverse, const T* x, SkinnyExtent extent, float epsilon) {
  SHARED float scratch[ROWS][most_waves];
  UNROLL_LOOP
  for (u32 r = 0; r < ROWS; ++r) {
    float squares = 0;
    if (r < extent.rows) {
      for_each_pack(extent.inputs, [&](u64 i) {
        const Floats values = load_floats(x + r * extent.inputs + i);
        squares += (values * values).sum();
      });
    }
    squares = block_reduce(squares, Sum{}, scratch[r]);
    inverse[r] = fast_rsqrt(squares / static_cast<float>(extent.inputs) + epsilon);
  }
}

template <typename T, int ROWS>
DEVICE void skinny_product(T* y, const T* x, const T* weight, const T* norm, const T* bias,
                           SkinnyExtent extent, float epsilon, int add, int swiglu) {
  using Raw = Pack<T, row_pack>;
  const u32 waves = block_threads() / wave_width;
  // With SwiGLU, outputs j and outputs + j of the matrix belong together.
  const u64 apart = swiglu != 0 ? extent.outputs : 1;
  const u64 results = swiglu != 0 ? extent.outputs : (extent.outputs + 1) / 2;
  const u64 stride = u64{wave_width} * row_pack;
  const Tiles mine = my_tiles(results, waves);
  let_next_kernel_begin();  // it waits in turn before it touches what this one writes
  float inverse[ROWS];
  for (u64 tile = mine.begin; tile < mine.end; tile += mine.step) {
    const u64 result = tile + wave_index() < results ? tile + wave_index() : results - 1;
    const u64 first = swiglu != 0 ? result : result * 2;
    const u64 second = swiglu != 0 || first + 1 < extent.outputs ? first + apart : first;
    const T* const of_output[skinny_outputs] = {weight + first * extent.inputs,
                                                weight + second * extent.inputs};
    // The first of the matrix comes while the kernel before this one still runs.
    Raw ahead[skinny_outputs][skinny_packs];
    const auto fetch = [&](u64 from) {
      UNROLL_LOOP
      for (u32 p = 0; p < skinny_packs; ++p) {
        const u64 i = from + p * stride;
        if (i >= extent.inputs) break;
        UNROLL_LOOP
        for (u32 o = 0; o < skinny_outputs; ++o) {
          ahead[o][p] = load_streaming(reinterpret_cast<const Raw*>(of_output[o] + i));
        }
      }
    };
    const u64 begin = u64{lane_index()} * row_pack;
    fetch(begin);
    wait_for_previous_kernel();
    if (norm != nullptr && tile == mine.begin) {
      inverse_roots<T, ROWS>(inverse, x, extent, epsilon);
    }
    float sums[skinny_outputs][ROWS];
    UNROLL_LOOP
    for (u32 o = 0; o < skinny_outputs; ++o) {
      UNROLL_LOOP
      for (u32 r = 0; r < ROWS; ++r) sums[o][r] = 0;
    }
    for (u64 from = begin; from < extent.inputs; from += skinny_packs * stride) {
      Raw now[skinny_outputs][skinny_packs];
      UNROLL_LOOP
      for (u32 p = 0; p < skinny_packs; ++p) {
        UNROLL_LOOP
        for (u32 o = 0; o < skinny_outputs; ++o) now[o][p] = ahead[o][p];
      }
      fetch(from + skinny_packs * stride);
      UNROLL_LOOP
      for (u32 p = 0; p < skinny_packs; ++p) {
        const u64 i = from + p * stride;
        if (i >= extent.inputs) break;
        Floats w[skinny_outputs];
        UNROLL_LOOP
        for (u32 o = 0; o < skinny_outputs; ++o) w[o] = to_floats(now[o][p]);
        if (norm != nullptr) {
          const Floats scale = load_floats(norm + i);
          UNROLL_LOOP
          for (u32 o = 0; o < skinny_outputs; ++o) w[o] = w[o] * scale;
        }
        UNROLL_LOOP
        for (u32 r = 0; r < ROWS; ++r) {
          if (r >= extent.rows) break;
          const Floats values = load_floats(x + r * extent.inputs + i);
          UNROLL_LOOP
          for (u32 o = 0; o < skinny_outputs; ++o) sums[o][r] += (values * w[o]).sum();
        }
      }
    }
    UNROLL_LOOP
    for (u32 r = 0; r < ROWS; ++r) {
      UNROLL_LOOP
      for (u32 o = 0; o < skinny_outputs; ++o) {
        sums[o][r] = wave_reduce(sums[o][r], Sum{}) * (norm != nullptr ? inverse[r] : 1.0f);
      }
      if (lane_index() != 0 || r >= extent.rows || tile + wave_index() >= results) continue;
      T* const out = y + r * extent.outputs;
      if (swiglu != 0) {
        const float gate = sums[0][r];
        out[first] = encode<T>(gate * fast_reciprocal(1 + fast_exp2(-log2_e * gate)) * sums[1][r]);
        continue;
      }
      UNROLL_LOOP
      for (u32 o = 0; o < skinny_outputs; ++o) {
        if (first + o >= extent.outputs) break;
        float value = sums[o][r];
        if (bias != nullptr) value += decode(bias[first + o]);
        if (add != 0) value += decode(out[first + o]);
        out[first + o] = encode<T>(value);
      }
    }
  }
}

}  // namespace

/// y[rows, outputs] = x[rows, inputs] times the transpose of weight[outputs, inputs], for up to
/// ROWS rows. With `norm`[inputs], x is divided by its root mean square and multiplied by it;
/// `bias` may be null; with `add` the product is added to y. With `swiglu`, the matrix has twice as
/// many outputs, and y = silu(the first half) times the second.
#define SKINNY_KERNEL(T, suffix, ROWS)                                                      \
  KERNEL_OF(SKINNY_THREADS, (ROWS < 4 ? 3 : 2), skinny_product_##ROWS##_##suffix, T* y,     \
            const T* x, const T* weight, const T* norm, const T* bias, SkinnyExtent extent, \
            float epsilon, int add, int swiglu) {                                           \
    skinny_product<T, ROWS>(y, x, weight, norm, bias, extent, epsilon, add, swiglu);        \
  }
#define SKINNY_KERNELS(ROWS)      \
  SKINNY_KERNEL(float, f32, ROWS) \
  SKINNY_KERNEL(Bf16, bf16, ROWS)
SKINNY_KERNELS(1)
SKINNY_KERNELS(2)
SKINNY_KERNELS(4)
SKINNY_KERNELS(8)
