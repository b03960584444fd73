// Tiles of matrices in shared memory, and copying them from global memory.
#pragma once

#include "async_copy.h"
#include "element_types.h"
#include "wave.h"

namespace {

constexpr int tile_depth = 16;     // depth of the operands of one multiply_add()
constexpr int chunk_elements = 8;  // 16 bytes, one thread's widest load

/// A matrix in shared memory, ROWS x COLUMNS of 16-bit elements without gaps, aligned to 128 bytes.
/// The chunks of a row are permuted depending on the row, so that one column's chunks in eight rows
/// lie in eight different groups of banks.
template <typename T, int ROWS, int COLUMNS>
struct SharedTile {
  static constexpr int rows = ROWS, columns = COLUMNS, elements = ROWS * COLUMNS;
  static constexpr int row_chunks = COLUMNS / chunk_elements;
  static_assert(COLUMNS % chunk_elements == 0 && (row_chunks & (row_chunks - 1)) == 0,
                "a row is a power of two of chunks");
  T* data;

  /// Returns the address of chunk `chunk` of row `first` + `row`. `first` must be a multiple of 8;
  /// then the permutation depends only on `row`, and loops over `first` compute it once.
  DEVICE T* chunk(int first, int row, int chunk) const {
    constexpr int shared_by = row_chunks < 8 ? 8 / row_chunks : 1;  // rows per pass over the banks
    constexpr int places = row_chunks < 8 ? row_chunks : 8;
    return data + (first + row) * COLUMNS + (chunk ^ ((row / shared_by) % places)) * chunk_elements;
  }
  DEVICE T& at(int row, int column) const {
    return chunk(0, row, column / chunk_elements)[column % chunk_elements];
  }
};

/// Returns the distance from `position` to `limit`, clamped to 0 and the largest int.
DEVICE int bounded(u64 limit, u64 position) {
  if (position >= limit) return 0;
  const u64 left = limit - position;
  return left < 0x7FFFFFFF ? static_cast<int>(left) : 0x7FFFFFFF;
}

/// Copies tiles from global to shared memory with all threads of a block, tile after tile along a
/// matrix. Each copy has two halves with work in between: begin() starts the loads, end() stores
/// what went through registers. On NVIDIA, copies of whole aligned tiles bypass the registers, so
/// the caller must close and await them (async_copy.h). Elements outside the matrix become 0.
template <typename T, int ROWS, int COLUMNS, int THREADS>
class TileCopy {
  using Tile = SharedTile<T, ROWS, COLUMNS>;

 public:
  /// The first tile begins at from[row * ld + column] of a matrix of `rows` x `columns`. `aligned`:
  /// the matrix is aligned to 16 bytes and ld is a multiple of a chunk.
  DEVICE TileCopy(const T* from, u64 ld, u64 row, u64 column, u64 rows, u64 columns, bool aligned)
      : ld_(ld), aligned_(aligned) {
    const int thread = static_cast<int>(thread_index());
    row_ = thread / Tile::row_chunks;
    chunk_ = thread % Tile::row_chunks;
    row += row_;
    column += static_cast<u64>(chunk_) * chunk_elements;
    rows_left_ = bounded(rows, row);
    columns_left_ = bounded(columns, column);
    source_ = from + row * ld + column;
  }

  /// Moves to the next tile, `rows` further down or `columns` to the right.
  DEVICE void move_down(int rows) {
    source_ += static_cast<u64>(rows) * ld_;
    rows_left_ -= rows;
  }
  DEVICE void move_right(int columns) {
    source_ += columns;
    columns_left_ -= columns;
  }

  /// Begins to copy this tile, or the one `shift` elements behind it, which belongs to another
  /// matrix in the same rows.
  DEVICE void begin(Tile to, u64 shift = 0) {
#if defined(ON_CPU)
    for (int r = 0; r < ROWS; ++r) {
      for (int c = 0; c < Tile::row_chunks; ++c) {
        const int left = r < rows_left_ ? columns_left_ - c * chunk_elements : 0;
        const int wanted = left < chunk_elements ? left : chunk_elements;
        *reinterpret_cast<Chunk*>(to.chunk(0, r, c)) =
            load(source_ + shift + static_cast<u64>(r) * ld_ + c * chunk_elements, wanted);
      }
    }
#else
    const int wanted = columns_left_ < chunk_elements ? columns_left_ : chunk_elements;
    const T* source = source_ + shift;
#if defined(ON_CUDA)
    if (aligned_ && rows_left_ > ROWS - stride && wanted == chunk_elements) {
      UNROLL_LOOP
      for (int i = 0; i < chunks; ++i) {
        begin_copy(to.chunk(i * stride, row_, chunk_), source);
        source += stride * ld_;
      }
      return;
    }
#endif
    UNROLL_LOOP
    for (int i = 0; i < chunks; ++i) {
      const Chunk loaded = load(source, i * stride < rows_left_ ? wanted : 0);
#if defined(ON_HIP)
      loaded_[i] = loaded;
#else
      *reinterpret_cast<Chunk*>(to.chunk(i * stride, row_, chunk_)) = loaded;
#endif
      source += stride * ld_;
    }
#endif
  }

  DEVICE void end([[maybe_unused]] Tile to) {
#if defined(ON_HIP)
    UNROLL_LOOP
    for (int i = 0; i < chunks; ++i) {
      *reinterpret_cast<Chunk*>(to.chunk(i * stride, row_, chunk_)) = loaded_[i];
    }
#endif
  }

 private:
#if !defined(ON_CPU)
  // A thread copies one column of chunks, `stride` rows apart.
  static constexpr int stride = THREADS / Tile::row_chunks, chunks = ROWS / stride;
  static_assert(stride % 8 == 0 && chunks * stride == ROWS, "every thread copies as many chunks");
#endif

  DEVICE Chunk load(const T* source, int wanted) const {
    if (aligned_ && wanted == chunk_elements) return *reinterpret_cast<const Chunk*>(source);
    union {
      Chunk chunk;
      u16 element[chunk_elements];
    } both = {};
    UNROLL_LOOP  // completely, because registers cannot be indexed at run time
        for (int e = 0; e < chunk_elements; ++e) {
      if (e < wanted) both.element[e] = reinterpret_cast<const u16*>(source)[e];
    }
    return both.chunk;
  }

  const T* source_;
  u64 ld_;
  int row_, chunk_, rows_left_, columns_left_;
  bool aligned_;
#if defined(ON_HIP)
  Chunk loaded_[chunks];
#endif
};

/// The layout of an operand in shared memory.
enum class Order {
  depth_last,   ///< rows (left) or columns (right) of the tile, depth contiguous
  depth_first,  ///< one line per step of depth
};

}  // namespace
