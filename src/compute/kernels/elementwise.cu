// Arrays as arrays: between the types of weights and their sums, and added.
#include "rows.h"

/// y = x, widened.
KERNEL(widen_bf16, float* y, const Bf16* x, u64 elements) {
  for_each_pack_of_all(elements, [&](u64 i) { store_floats(y + i, load_floats(x + i)); });
}
/// y = x, rounded to nearest.
KERNEL(narrow_bf16, Bf16* y, const float* x, u64 elements) {
  for_each_pack_of_all(elements, [&](u64 i) { store_floats(y + i, load_floats(x + i)); });
}

/// y += x.
KERNEL(add_f32, float* y, const float* x, u64 elements) {
  for_each_pack_of_all(
      elements, [&](u64 i) { store_floats(y + i, load_floats(y + i) + load_floats(x + i)); });
}
KERNEL(add_bf16, Bf16* y, const Bf16* x, u64 elements) {
  for_each_pack_of_all(
      elements, [&](u64 i) { store_floats(y + i, load_floats(y + i) + load_floats(x + i)); });
}
