// Joins the columns of a matrix that an all-gather from several ranks left as separate matrices.
#include "rows.h"

namespace {

template <typename T>
DEVICE void join_columns(T* y, const T* x, u64 parts, u64 rows, u64 width) {
  const u64 row_packs = parts * width / row_pack;
  const Tiles tiles = my_tiles(rows * row_packs, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= rows * row_packs) continue;
    const u64 row = i / row_packs, column = i % row_packs * row_pack;
    const u64 part = column / width, in_part = column % width;
    store_pack(y + row * parts * width + column,
               load_pack<row_pack>(x + (part * rows + row) * width + in_part));
  }
}

}  // namespace

/// Computes y[rows, parts * width]: each row is the concatenation of that row in all parts of
/// x[parts, rows, width]. `width` is a multiple of eight.
#define JOIN_KERNEL(T, suffix)                                                      \
  KERNEL(join_columns_##suffix, T* y, const T* x, u64 parts, u64 rows, u64 width) { \
    join_columns(y, x, parts, rows, width);                                         \
  }
JOIN_KERNEL(float, f32)
JOIN_KERNEL(Bf16, bf16)
