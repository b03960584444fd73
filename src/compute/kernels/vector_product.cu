// The product of a vector with a weight matrix, which is read once at the memory's speed: a wave
// computes two outputs at a time. What stands around such a product in a decoder is joined with it:
// the norm before it, and a bias, a sum or SwiGLU after it.
#include "vector_product.h"

namespace {

constexpr u32 wave_outputs = 2;
constexpr u32 packs_ahead = VECTOR_AHEAD;

/// The two matrix rows of a wave's outputs, whose first packs are on their way.
template <typename T>
struct MatrixRows {
  using Raw = Pack<T, row_pack>;
  static constexpr u64 stride = u64{wave_width} * row_pack;
  const T* row[wave_outputs];
  Raw ahead[packs_ahead][wave_outputs];

  DEVICE void fetch(u64 from, u64 inputs) {
    UNROLL_LOOP
    for (u32 p = 0; p < packs_ahead; ++p) {
      const u64 i = from + p * stride;
      if (i >= inputs) continue;
      UNROLL_LOOP
      for (u32 o = 0; o < wave_outputs; ++o) {
        ahead[p][o] = load_streaming(reinterpret_cast<const Raw*>(row[o] + i));
      }
    }
  }
};

template <typename T>
DEVICE void vector_product(T* y, const T* x, const T* weight, const T* norm, const T* bias,
                           u64 outputs, u64 inputs, float epsilon, int add, int swiglu) {
  using Rows = MatrixRows<T>;
  const u32 waves = block_threads() / wave_width;
  // With SwiGLU, outputs j and outputs + j of the matrix make one of y.
  const u64 results = swiglu != 0 ? outputs : (outputs + 1) / 2;
  const u64 begin = u64{lane_index()} * row_pack;
  Rows rows;
  const auto first_of = [&](u64 tile) {
    const u64 result = tile + wave_index() < results ? tile + wave_index() : results - 1;
    return swiglu != 0 ? result : result * 2;
  };
  const auto fetch_first = [&](u64 tile) {
    const u64 first = first_of(tile);
    const u64 second = swiglu != 0 ? first + outputs : first + 1 < outputs ? first + 1 : first;
    rows.row[0] = weight + first * inputs;
    rows.row[1] = weight + second * inputs;
    rows.fetch(begin, inputs);
  };
  const Tiles mine = my_tiles(results, waves);
  let_next_kernel_begin();  // it waits in turn before it touches what this one writes
  if (mine.begin < mine.end) {  // while the kernel before this one still runs
    fetch_first(mine.begin);
    UNROLL_LOOP
    for (u32 o = 0; o < wave_outputs; ++o) fetch_early(rows.row[o], inputs * sizeof(T));
  }
  wait_for_previous_kernel();
  T* const normed = static_cast<T*>(dynamic_shared());  // [inputs], with a norm
  if (norm != nullptr) rms_norm(normed, x, norm, inputs, epsilon);
  for (u64 tile = mine.begin; tile < mine.end; tile += mine.step) {
    Floats products[wave_outputs];  // summed in one order, however many packs are ahead
    UNROLL_LOOP
    for (u32 o = 0; o < wave_outputs; ++o) products[o] = floats_of(0);
    for (u64 from = begin; from < inputs; from += packs_ahead * Rows::stride) {
      UNROLL_LOOP
      for (u32 p = 0; p < packs_ahead; ++p) {
        const u64 i = from + p * Rows::stride;
        if (i >= inputs) continue;
        const Floats values = norm != nullptr ? load_floats(normed + i) : load_floats(x + i);
        UNROLL_LOOP
        for (u32 o = 0; o < wave_outputs; ++o) {
          products[o] = add_products(products[o], values, to_floats(rows.ahead[p][o]));
        }
      }
      rows.fetch(from + packs_ahead * Rows::stride, inputs);
    }
    const u64 first = first_of(tile);
    if (tile + mine.step < mine.end) fetch_first(tile + mine.step);
    float sums[wave_outputs];
    UNROLL_LOOP
    for (u32 o = 0; o < wave_outputs; ++o) sums[o] = wave_reduce(products[o].sum(), Sum{});
    if (lane_index() != 0 || tile + wave_index() >= results) continue;
    store_results(y, bias, sums, first, outputs, add, swiglu);
  }
}

}  // namespace

/// y[outputs] = x[inputs] times the transpose of weight[outputs, inputs]. With `norm`[inputs], x is
/// divided by its root mean square and multiplied by it, in dynamic shared memory; `bias` may be
/// null; with `add` the product is added to y. With `swiglu`, the matrix has twice as many outputs,
/// and y = silu(the first half) times the second.
#define VECTOR_KERNEL(T, suffix)                                                           \
  KERNEL_OF(VECTOR_THREADS, VECTOR_BLOCKS, vector_product_##suffix, T* y, const T* x, const T* weight, \
            const T* norm, const T* bias, u64 outputs, u64 inputs, float epsilon, int add, \
            int swiglu) {                                                                  \
    vector_product(y, x, weight, norm, bias, outputs, inputs, epsilon, add, swiglu);       \
  }
VECTOR_KERNEL(float, f32)
VECTOR_KERNEL(Bf16, bf16)
