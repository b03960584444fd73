// Arrays as arrays: between the types of weights and their sums, added, and compared by a checksum.
#include "element_hash.h"
#include "rows.h"

namespace {

template <typename To, typename From>
DEVICE void copy_as(To* y, const From* x, u64 elements) {
  for_each_pack_of_all(elements, [&](u64 i) { store_floats(y + i, load_floats(x + i)); });
}

template <typename T>
DEVICE void add(T* y, const T* x, u64 elements) {
  for_each_pack_of_all(
      elements, [&](u64 i) { store_floats(y + i, load_floats(y + i) + load_floats(x + i)); });
}

}  // namespace

/// y = x, widened.
KERNEL(widen_bf16, float* y, const Bf16* x, u64 elements) {
  copy_as(y, x, elements);
}
KERNEL(widen_f16, float* y, const F16* x, u64 elements) {
  copy_as(y, x, elements);
}
/// y = x, rounded to nearest.
KERNEL(bf16_of_f16, Bf16* y, const F16* x, u64 elements) {
  copy_as(y, x, elements);
}
KERNEL(narrow_bf16, Bf16* y, const float* x, u64 elements) {
  copy_as(y, x, elements);
}
KERNEL(narrow_f16, F16* y, const float* x, u64 elements) {
  copy_as(y, x, elements);
}

/// y += x.
KERNEL(add_f32, float* y, const float* x, u64 elements) {
  add(y, x, elements);
}
KERNEL(add_bf16, Bf16* y, const Bf16* x, u64 elements) {
  add(y, x, elements);
}
KERNEL(add_f16, F16* y, const F16* x, u64 elements) {
  add(y, x, elements);
}

/// sum += the hashes of all words and their places: the same whatever order blocks come in.
KERNEL(checksum, u64* sum, const u32* words, u64 count, u64 first) {
  SHARED u64 scratch[most_waves];
  u64 total = 0;
  const Tiles tiles = my_tiles(count, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i < count) total += hash_at(first + i, words[i]);
  }
  total = block_reduce(total, Sum{}, scratch);
  if (thread_index() == 0) atomic_add(sum, total);
}
