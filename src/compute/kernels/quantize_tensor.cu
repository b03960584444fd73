// Quantizes a matrix to fp8 codes with one factor for all of it, and stores them as rows and as
// columns, because products of fp8 read both operands along the sum.
#include "tensor_scale.h"

namespace {

// A block converts tiles of the matrix. Each of its threads converts pieces of part_rows rows and a
// pack of columns, so that it can store the codes of a column in one word.
constexpr int tile_rows = 64, tile_columns = 128, part_rows = 4;
constexpr int parts_down = tile_rows / part_rows, parts_across = tile_columns / row_pack;
// Neighbouring threads take parts_beside pieces beside each other and then the next rows. With
// columns of an odd number of words, 32 threads then store to all banks of shared memory.
constexpr int parts_beside = 4, column_words = parts_down + 1;
constexpr int chunk_words = 4;  // of a column, which a thread stores at once

/// The piece number `i` of a tile.
struct TilePart {
  int row, column;
  static DEVICE TilePart of(int i) {
    const int beside = i % parts_beside, down = i / parts_beside % parts_down,
              group = i / (parts_beside * parts_down);
    return {down * part_rows, (group * parts_beside + beside) * row_pack};
  }
};

template <typename T, typename Code>
DEVICE void quantize_tensor(Code* codes, Code* columns_of_codes, TensorScale* scale, const T* x,
                            u64 rows, u64 columns) {
  SHARED u32 words[tile_columns][column_words];
  constexpr float least = 1e-12f;  // of the largest magnitude, as in torchao
  const float largest = float_of(scale->largest);
  const float inverse = largest_number<Code>() / (largest < least ? least : largest);
  if (block_index() == 0 && thread_index() == 0) scale->factor = 1 / inverse;
  const u64 across = (columns + tile_columns - 1) / tile_columns;
  const Tiles mine = my_tiles((rows + tile_rows - 1) / tile_rows * across, 1);
  for (u64 tile = mine.begin; tile < mine.end; tile += mine.step) {
    const u64 row = tile / across * tile_rows, column = tile % across * tile_columns;
    for (int i = static_cast<int>(thread_index()); i < parts_down * parts_across;
         i += static_cast<int>(block_threads())) {
      const TilePart part = TilePart::of(i);
      if (row + part.row >= rows || column + part.column >= columns) continue;
      Pack<Code, row_pack> converted[part_rows];
      UNROLL_LOOP
      for (int r = 0; r < part_rows; ++r) {
        const u64 at = (row + part.row + r) * columns + column + part.column;
        converted[r] = encode<Code, row_pack>(load_floats(x + at) * floats_of(inverse));
        if (codes != nullptr) store_pack(codes + at, converted[r]);
      }
      if (columns_of_codes == nullptr) continue;
      UNROLL_LOOP
      for (int e = 0; e < row_pack; ++e) {
        u32 word = 0;
        UNROLL_LOOP
        for (int r = 0; r < part_rows; ++r) word |= u32{converted[r].get(e).bits} << 8 * r;
        words[part.column + e][part.row / part_rows] = word;
      }
    }
    if (columns_of_codes == nullptr) continue;
    barrier();
    constexpr int chunks = parts_down / chunk_words;  // of a column
    for (int i = static_cast<int>(thread_index()); i < tile_columns * chunks;
         i += static_cast<int>(block_threads())) {
      const int c = i / chunks, first = i % chunks * chunk_words;
      const u64 from = row + static_cast<u64>(first) * part_rows;
      if (column + c >= columns || from >= rows) continue;
      Pack<u32, chunk_words> chunk;
      UNROLL_LOOP
      for (int w = 0; w < chunk_words; ++w) chunk.v[w] = words[c][first + w];
      store_pack(reinterpret_cast<u32*>(columns_of_codes + (column + c) * rows + from), chunk);
    }
    barrier();  // words are free for the next tile
  }
}

}  // namespace

/// Raises scale->largest to the largest magnitude of x.
KERNEL(find_largest_bf16, TensorScale* scale, const Bf16* x, u64 elements) {
  LargestMagnitude largest;
  for_each_pack_of_all(elements, [&](u64 i) { largest.see(load_floats(x + i)); });
  largest.raise(scale);
}

/// scale->factor = the largest magnitude of x by that of a code, and codes[rows, columns] = x by
/// it, rounded to nearest. Unless null, columns_of_codes[columns, rows] receives their transpose.
/// rows and columns: multiples of 16.
#define QUANTIZE_KERNEL(Code, code)                                                              \
  KERNEL(quantize_tensor_##code##_bf16, Code* codes, Code* columns_of_codes, TensorScale* scale, \
         const Bf16* x, u64 rows, u64 columns) {                                                 \
    quantize_tensor(codes, columns_of_codes, scale, x, rows, columns);                           \
  }
QUANTIZE_KERNEL(E4m3, e4m3)
QUANTIZE_KERNEL(E5m2, e5m2)
QUANTIZE_KERNEL(E4m3Fnuz, e4m3_fnuz)
QUANTIZE_KERNEL(E5m2Fnuz, e5m2_fnuz)
