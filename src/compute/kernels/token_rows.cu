// Reads rows of the embedding for a model's input tokens, and finds the most likely next token.
#include "rows.h"
#include "token_order.h"

namespace {

template <typename T>
DEVICE void gather_rows(T* y, const T* x, const i32* indices, u64 count, u64 width) {
  const u64 row_packs = width / row_pack;
  const Tiles tiles = my_tiles(count * row_packs, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= count * row_packs) continue;
    const u64 row = i / row_packs, column = i % row_packs * row_pack;
    store_pack(y + row * width + column,
               load_pack<row_pack>(x + static_cast<u64>(indices[row]) * width + column));
  }
}

/// Grid: rows, parts of each row. The last block of a row's parts to finish picks the best one.
template <typename T>
DEVICE void most_likely(i32* next, u64* found, u32* arrived, const T* logits, u64 rows,
                        u64 vocabulary, u64 columns, u64 parts) {
  SHARED u64 scratch[most_waves];
  wait_for_previous_kernel();
  const u64 packs = (vocabulary + row_pack - 1) / row_pack, part = block_index_y(),
            share = (packs + parts - 1) / parts * row_pack, begin = part * share,
            end = begin + share < vocabulary ? begin + share : vocabulary;
  const Tiles mine = my_tiles(rows, 1);
  for (u64 row = mine.begin; row < mine.end; row += mine.step) {
    const T* const of_row = logits + row * columns;
    u64 best = 0;
    for_each_pack(begin < end ? end - begin : 0, [&](u64 offset) {
      const u64 i = begin + offset;
      const Floats values = load_floats(of_row + i);
      for (u64 e = 0; e < row_pack && i + e < end; ++e) {
        best = Maximum{}(best, candidate(values.v[e], i + e));
      }
    });
    best = block_reduce(best, Maximum{}, scratch);
    if (parts > 1) {
      u64* const of_parts = found + row * parts;
      if (thread_index() == 0) of_parts[part] = best;
      if (!is_last_block(arrived + row, static_cast<u32>(parts))) return;
      best = 0;
      for (u64 p = thread_index(); p < parts; p += block_threads()) {
        best = Maximum{}(best, of_parts[p]);
      }
      best = block_reduce(best, Maximum{}, scratch);
    }
    if (thread_index() == 0) next[row] = token_of(best);
    barrier();  // scratch is free for the next row
  }
}

}  // namespace

/// Advances every sequence by its next token.
KERNEL(advance_tokens, i32* tokens, i32* positions, const i32* next, u64 count) {
  const Tiles tiles = my_tiles(count, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= count) continue;
    tokens[i] = next[i];
    positions[i] += 1;
  }
}

/// gather_rows: row i of y[count, width] = row indices[i] of x. most_likely: next[i] = the column
/// of the largest of the first `vocabulary` logits in row i of logits[rows, columns], the first one
/// of equal logits. Rows must be readable up to a multiple of eight. If a row is split into several
/// parts, a block handles one row; found[rows, parts] is scratch, and arrived[rows] is zero before
/// and after.
#define TOKEN_KERNELS(T, suffix)                                                               \
  KERNEL(gather_rows_##suffix, T* y, const T* x, const i32* indices, u64 count, u64 width) {   \
    gather_rows(y, x, indices, count, width);                                                  \
  }                                                                                            \
  KERNEL(most_likely_##suffix, i32* next, u64* found, u32* arrived, const T* logits, u64 rows, \
         u64 vocabulary, u64 columns, u64 parts) {                                             \
    most_likely(next, found, arrived, logits, rows, vocabulary, columns, parts);               \
  }
TOKEN_KERNELS(float, f32)
TOKEN_KERNELS(Bf16, bf16)
