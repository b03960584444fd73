// WaveTile (tile.h) on a CPU: loops that the compiler vectorises along columns.
#pragma once

#include "conversions.h"
#include "tile_memory.h"

namespace {

constexpr int least_columns = 16;

template <typename T, int M, int N>
class WaveTile {
  static_assert(M % 16 == 0 && N % 16 == 0, "made of 16 x 16");

 public:
  static constexpr int rows = M, columns = N;
  static constexpr int parts = 1;
  static DEVICE int depth_part() { return 0; }
  static DEVICE int depth_of(int e) { return e; }
  using Elements = Pack<T, tile_depth>;

  struct Left {
    float element[M][tile_depth];
    static constexpr int lines = M;
    static DEVICE int line(int slot) { return slot; }
    DEVICE void set(int slot, const Elements& elements) {
      store_pack(element[slot], decode(elements));
    }
    template <Order ORDER, typename Tile>
    DEVICE void load(const Tile& tile, int row, int depth) {
      if constexpr (ORDER == Order::depth_last) {
        for (int i = 0; i < M; ++i) load_line(element[i], tile, row + i, depth, tile_depth);
      } else {
        for (int k = 0; k < tile_depth; ++k) {
          float line[M];
          load_line(line, tile, depth + k, row, M);
          for (int i = 0; i < M; ++i) element[i][k] = line[i];
        }
      }
    }
    template <typename Sums, typename Tile>
    DEVICE void take(const Sums&, const Tile& staged, int row, int depth) {
      load<Order::depth_last>(staged, row, depth);
    }
  };
  static constexpr bool sums_are_operands = false;
  template <typename Tile>
  DEVICE void put(const Tile& tile, int row, int column = 0) const {
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < N; ++j) tile.at(row + i, column + j) = encode<T>(sums_[i][j]);
    }
  }
  struct Right {
    float element[tile_depth][N];
    static constexpr int lines = N;
    static DEVICE int line(int slot) { return slot; }
    DEVICE void set(int slot, const Elements& elements) {
      float line[tile_depth];
      store_pack(line, decode(elements));
      for (int k = 0; k < tile_depth; ++k) element[k][slot] = line[k];
    }
    DEVICE void take(const WaveTile<T, tile_depth, N>& sums) {
      for (int k = 0; k < tile_depth; ++k) {
        for (int j = 0; j < N; ++j) element[k][j] = decode(encode<T>(sums.sum(k, j)));
      }
    }
    template <Order ORDER, typename Tile>
    DEVICE void load(const Tile& tile, int column, int depth) {
      if constexpr (ORDER == Order::depth_first) {
        for (int k = 0; k < tile_depth; ++k) load_line(element[k], tile, depth + k, column, N);
      } else {
        for (int j = 0; j < N; ++j) {
          float line[tile_depth];
          load_line(line, tile, column + j, depth, tile_depth);
          for (int k = 0; k < tile_depth; ++k) element[k][j] = line[k];
        }
      }
    }
  };

  DEVICE float sum(int i, int j) const { return sums_[i][j]; }
  DEVICE void fill(float value) {
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < N; ++j) sums_[i][j] = value;
    }
  }
  DEVICE void multiply_add(const Left& left, const Right& right) {
    for (int i = 0; i < M; ++i) {
      float row[N];
      for (int j = 0; j < N; ++j) row[j] = sums_[i][j];
      for (int k = 0; k < tile_depth; ++k) {
        const float x = left.element[i][k];
        for (int j = 0; j < N; ++j) row[j] += x * right.element[k][j];
      }
      for (int j = 0; j < N; ++j) sums_[i][j] = row[j];
    }
  }
  template <typename Body>
  DEVICE void for_each(Body body) {
    for_each_with(*this, [&](int row, int column, float& sum, float) { body(row, column, sum); });
  }
  static constexpr int row_slots = M;
  struct Rows {
    float slot[row_slots];
  };
  template <typename Combine>
  DEVICE Rows reduce_rows(Combine combine) const {
    Rows result;
    for (int i = 0; i < M; ++i) {
      float value = sums_[i][0];
      for (int j = 1; j < N; ++j) value = combine(value, sums_[i][j]);
      result.slot[i] = value;
    }
    return result;
  }
  template <typename Body>
  DEVICE void for_each_with(const WaveTile& other, Body body) {
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < N; ++j) body(i, j, sums_[i][j], other.sums_[i][j]);
    }
  }
  template <typename Body>
  static DEVICE void for_each_row(Body body) {
    for (int i = 0; i < M; ++i) body(i, i);
  }
  static DEVICE bool first_in_row() { return true; }
  static constexpr int column_slots = N;
  struct Columns {
    float slot[column_slots];
  };
  template <typename Combine>
  DEVICE Columns reduce_columns(Combine combine) const {
    Columns result;
    for (int j = 0; j < N; ++j) {
      float value = sums_[0][j];
      for (int i = 1; i < M; ++i) value = combine(value, sums_[i][j]);
      result.slot[j] = value;
    }
    return result;
  }
  template <typename Body>
  DEVICE void for_each_in_columns(Body body) {
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < N; ++j) body(j, sums_[i][j]);
    }
  }
  template <typename Body>
  static DEVICE void for_each_column(Body body) {
    for (int j = 0; j < N; ++j) body(j, j);
  }
  static DEVICE bool first_in_column() { return true; }
  template <typename Body>
  DEVICE void for_each_in_rows(Body body) {
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < N; ++j) body(i, sums_[i][j]);
    }
  }

 private:
  /// Loads `count` elements of one row, in whole chunks.
  template <typename Tile>
  static DEVICE void load_line(float* to, const Tile& tile, int row, int column, int count) {
    for (int c = 0; c < count; c += chunk_elements) {
      const T* chunk = tile.chunk(0, row, (column + c) / chunk_elements);
      store_pack(to + c, decode(load_pack<chunk_elements>(chunk)));
    }
  }

  float sums_[M][N];
};

}  // namespace
