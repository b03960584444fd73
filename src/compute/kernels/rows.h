// Matrices whose rows are read eight elements at a time, and sums over their rows.
#pragma once

#include "conversions.h"
#include "wave.h"

namespace {

/// Elements of one access: 16 bytes of bf16. The width of a row must be a multiple of it, and rows
/// must be aligned to the size of that many elements.
constexpr int row_pack = 8;
using Floats = Pack<float, row_pack>;

template <typename T>
DEVICE Floats load_floats(const T* from) {
  return to_floats(load_pack<row_pack>(from));
}
template <typename T>
DEVICE void store_floats(T* to, Floats x) {
  store_pack(to, from_floats<T, row_pack>(x));
}
DEVICE Floats floats_of(float value) {
  return broadcast<float, row_pack>(value);
}

/// Calls body(first element) for every pack of a row of `width` elements; the block's threads share
/// the packs.
template <typename Body>
DEVICE void for_each_pack(u64 width, Body body) {
  for (u64 i = u64{thread_index()} * row_pack; i < width; i += u64{block_threads()} * row_pack) {
    body(i);
  }
}

/// Calls body(first element) for every pack of an array, whose number of elements must be a
/// multiple of row_pack; the grid's threads share the packs.
template <typename Body>
DEVICE void for_each_pack_of_all(u64 elements, Body body) {
  const Tiles tiles = my_tiles(elements / row_pack, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = (tile + thread_index()) * row_pack;
    if (i < elements) body(i);
  }
}

// ---- Sums over rows ----

/// The rows of one stripe out of `stripes`.
struct Stripe {
  u64 begin, end;
};
DEVICE Stripe rows_of(u64 rows, u64 stripe, u64 stripes) {
  return {rows * stripe / stripes, rows * (stripe + 1) / stripes};
}

// Columns of a block's tile in sum_over_rows(): sum_columns where it sums the rows of a stripe,
// stripe_columns where it adds up the stripes, so that more blocks have work.
constexpr int sum_columns = 64, stripe_columns = 16;

/// Sums SUMS quantities over rows begin ... end, in a tile of COLUMNS columns from `first_column`
/// of `width`, by a block of 256 threads on a GPU. term(row, column, totals) adds the pack at
/// `column` to totals[SUMS]. result(column, sum, total) receives each total once. Threads take rows
/// in turn and are summed in a fixed order, so the result is deterministic.
template <int SUMS, int COLUMNS, typename Term, typename Result>
DEVICE void sum_over_rows(u64 begin, u64 end, u64 first_column, u64 width, Term term,
                          Result result) {
#if defined(ON_CPU)
  constexpr int across = 1, sum_lanes = 1;
#else
  constexpr int across = COLUMNS / row_pack, sum_lanes = 256 / across;
#endif
  SHARED float lanes[SUMS][sum_lanes][COLUMNS] __attribute__((aligned(32)));
  const int lane = static_cast<int>(thread_index()) / across;
  for (int c = static_cast<int>(thread_index()) % across * row_pack; c < COLUMNS;
       c += across * row_pack) {
    Floats totals[SUMS];
    UNROLL_LOOP
    for (int s = 0; s < SUMS; ++s) totals[s] = floats_of(0);
    if (first_column + c < width) {
      UNROLL_SOME
      for (u64 row = begin + lane; row < end; row += sum_lanes) {
        term(row, first_column + c, totals);
      }
    }
    UNROLL_LOOP
    for (int s = 0; s < SUMS; ++s) store_pack(&lanes[s][lane][c], totals[s]);
  }
  barrier();
  for (u32 i = thread_index(); i < SUMS * COLUMNS; i += block_threads()) {
    const int s = static_cast<int>(i) / COLUMNS, c = static_cast<int>(i) % COLUMNS;
    if (first_column + c >= width) continue;
    float total = 0;
    for (int l = 0; l < sum_lanes; ++l) total += lanes[s][l][c];
    result(first_column + c, s, total);
  }
}

}  // namespace
