// WaveTile (tile.h) on NVIDIA: mma.sync m16n8k16, operands loaded with ldmatrix.
#pragma once

#include "conversion_instructions.h"
#include "tile_memory.h"

namespace {

DEVICE void multiply(Bf16, const u32* a, const u32* b, float* c) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void multiply(F16, const u32* a, const u32* b, float* c) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Loads four 8 x 8 matrices; this lane passes the address of row lane % 8 of matrix lane / 8.
DEVICE void load_matrices(u32* registers, const void* row) {
  const u32 address = static_cast<u32>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(address));
}
DEVICE void load_matrices_transposed(u32* registers, const void* row) {
  const u32 address = static_cast<u32>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(address));
}

/// Returns the transpose of an 8 x 8 matrix, of which lane l holds elements 2 (l % 4) and the next
/// one of row l / 4.
DEVICE u32 transposed_matrix(u32 row) {
  u32 column;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(column) : "r"(row));
  return column;
}

constexpr int least_columns = 8;

template <typename T, int M, int N>
class WaveTile {
  static_assert(M % 16 == 0 && N % least_columns == 0, "made of 16 x 8");

 public:
  static constexpr int rows = M, columns = N;
  static constexpr int parts = 4;
  static DEVICE int depth_part() { return static_cast<int>(lane_index()) % 4; }
  static DEVICE int depth_of(int e) {
    return static_cast<int>(lane_index()) % 4 * 2 + e % 2 + e / 2 * 8;
  }
  using Elements = Pack<T, tile_depth / parts>;

  struct Left {
    u32 part[M / 16][4];
    static constexpr int lines = M / 8;
    static DEVICE int line(int slot) { return 8 * slot + static_cast<int>(lane_index()) / 4; }
    DEVICE void set(int slot, const Elements& elements) {
      part[slot / 2][slot % 2] = elements.v[0];
      part[slot / 2][slot % 2 + 2] = elements.v[1];
    }
    /// The M x tile_depth operand at `row`, `depth` of `tile`.
    template <Order ORDER, typename Tile>
    DEVICE void load(const Tile& tile, int row, int depth) {
      const int lane = static_cast<int>(lane_index());
      UNROLL_LOOP
      for (int i = 0; i < M / 16; ++i) {
        if constexpr (ORDER == Order::depth_last) {
          load_matrices(part[i], tile.chunk(row + 16 * i, lane % 16, depth / 8 + lane / 16));
        } else {
          load_matrices_transposed(part[i], tile.chunk(depth, lane % 8 + lane / 16 * 8,
                                                       (row + 16 * i) / 8 + lane / 8 % 2));
        }
      }
    }
    template <int DEPTHS, typename Tile>
    DEVICE void take(const WaveTile<T, M, DEPTHS>& sums, const Tile&, int, int depth) {
      UNROLL_LOOP
      for (int i = 0; i < M / 16; ++i) {
        UNROLL_LOOP
        for (int r = 0; r < 4; ++r) part[i][r] = sums.pair(i, depth / 8 + r / 2, r % 2);
      }
    }
  };
  static constexpr bool sums_are_operands = true;  // sums have the layout of operands
  template <typename Tile>
  DEVICE void put(const Tile& tile, int row, int column = 0) const {
    const int lane = static_cast<int>(lane_index());
    UNROLL_LOOP
    for (int i = 0; i < M / 16; ++i) {
      UNROLL_LOOP
      for (int j = 0; j < N / 8; ++j) {
        UNROLL_LOOP
        for (int half = 0; half < 2; ++half) {
          T* const chunk = tile.chunk(row + 16 * i + 8 * half, lane / 4, column / 8 + j);
          *reinterpret_cast<u32*>(chunk + lane % 4 * 2) = pair(i, j, half);
        }
      }
    }
    wave_barrier();
  }
  /// Returns this lane's sums [i][j][2 half] and the next one (registers()), each as a T.
  DEVICE u32 pair(int i, int j, int half) const {
    return EncodeTwo<T>::codes(sums_[i][j][2 * half], sums_[i][j][2 * half + 1]);
  }

  struct Right {
    u32 part[(N + 15) / 16][4];
    static constexpr int lines = N / 8;
    static DEVICE int line(int slot) { return 8 * slot + static_cast<int>(lane_index()) / 4; }
    DEVICE void set(int slot, const Elements& elements) {
      part[slot / 2][slot % 2 * 2] = elements.v[0];
      part[slot / 2][slot % 2 * 2 + 1] = elements.v[1];
    }
    DEVICE void take(const WaveTile<T, tile_depth, N>& sums) {
      UNROLL_LOOP
      for (int j = 0; j < N / 8; ++j) {
        UNROLL_LOOP
        for (int half = 0; half < 2; ++half) {
          part[j / 2][j % 2 * 2 + half] = transposed_matrix(sums.pair(0, j, half));
        }
      }
    }
    /// The tile_depth x N operand at `depth`, `column`.
    template <Order ORDER, typename Tile>
    DEVICE void load(const Tile& tile, int column, int depth) {
      const int lane = static_cast<int>(lane_index());
      UNROLL_LOOP
      for (int j = 0; j < N / 16; ++j) {
        if constexpr (ORDER == Order::depth_last) {
          load_matrices(part[j], tile.chunk(column + 16 * j, lane % 8 + lane / 16 * 8,
                                            depth / 8 + lane / 8 % 2));
        } else {
          load_matrices_transposed(part[j],
                                   tile.chunk(depth, lane % 16, (column + 16 * j) / 8 + lane / 16));
        }
      }
    }
  };
  /// Element [i][j][r] is in row 16 i + 8 (r / 2) + lane / 4, column 8 j + 2 (lane % 4) + r % 2.
  DEVICE float (&registers())[M / 16][N / 8][4] { return sums_; }
  DEVICE void fill(float value) {
    UNROLL_LOOP
    for (int i = 0; i < M / 16; ++i) {
      UNROLL_LOOP
      for (int j = 0; j < N / 8; ++j) {
        UNROLL_LOOP
        for (int r = 0; r < 4; ++r) sums_[i][j][r] = value;
      }
    }
  }
  DEVICE void multiply_add(const Left& left, const Right& right) {
    UNROLL_LOOP
    for (int i = 0; i < M / 16; ++i) {
      UNROLL_LOOP
      for (int j = 0; j < N / 8; ++j) {
        multiply(T{}, left.part[i], right.part[j / 2] + j % 2 * 2, sums_[i][j]);
      }
    }
  }
  template <typename Body>
  DEVICE void for_each(Body body) {
    for_each_with(*this, [&](int row, int column, float& sum, float) { body(row, column, sum); });
  }
  /// The number of rows of which this lane holds elements; each has a slot in Rows.
  static constexpr int row_slots = M / 8;
  struct Rows {
    float slot[row_slots];
  };
  /// Returns one value per row, which combines all elements of the row.
  template <typename Combine>
  DEVICE Rows reduce_rows(Combine combine) const {
    Rows result;
    UNROLL_LOOP
    for (int s = 0; s < row_slots; ++s) {
      float value = sums_[s / 2][0][s % 2 * 2];
      UNROLL_LOOP
      for (int j = 0; j < N / 8; ++j) {
        if (j > 0) value = combine(value, sums_[s / 2][j][s % 2 * 2]);
        value = combine(value, sums_[s / 2][j][s % 2 * 2 + 1]);
      }
      result.slot[s] = team_reduce(value, combine, 4);
    }
    return result;
  }
  template <typename Body>
  DEVICE void for_each_with(const WaveTile& other, Body body) {
    const int lane = static_cast<int>(lane_index());
    UNROLL_LOOP
    for (int i = 0; i < M / 16; ++i) {
      UNROLL_LOOP
      for (int j = 0; j < N / 8; ++j) {
        UNROLL_LOOP
        for (int r = 0; r < 4; ++r) {
          body(16 * i + lane / 4 + r / 2 * 8, 8 * j + lane % 4 * 2 + r % 2, sums_[i][j][r],
               other.sums_[i][j][r]);
        }
      }
    }
  }
  template <typename Body>
  static DEVICE void for_each_row(Body body) {
    UNROLL_LOOP
    for (int s = 0; s < row_slots; ++s) {
      body(s, s / 2 * 16 + s % 2 * 8 + static_cast<int>(lane_index()) / 4);
    }
  }
  static DEVICE bool first_in_row() { return lane_index() % 4 == 0; }
  static constexpr int column_slots = N / 4;
  struct Columns {
    float slot[column_slots];
  };
  template <typename Combine>
  DEVICE Columns reduce_columns(Combine combine) const {
    Columns result;
    UNROLL_LOOP
    for (int s = 0; s < column_slots; ++s) {
      float value = sums_[0][s / 2][s % 2];
      UNROLL_LOOP
      for (int i = 0; i < M / 16; ++i) {
        if (i > 0) value = combine(value, sums_[i][s / 2][s % 2]);
        value = combine(value, sums_[i][s / 2][s % 2 + 2]);
      }
      UNROLL_LOOP
      for (u32 mask = 4; mask < wave_width; mask *= 2) {
        value = combine(value, shuffle_xor(value, mask));
      }
      result.slot[s] = value;
    }
    return result;
  }
  template <typename Body>
  DEVICE void for_each_in_columns(Body body) {
    UNROLL_LOOP
    for (int i = 0; i < M / 16; ++i) {
      UNROLL_LOOP
      for (int j = 0; j < N / 8; ++j) {
        UNROLL_LOOP
        for (int r = 0; r < 4; ++r) body(2 * j + r % 2, sums_[i][j][r]);
      }
    }
  }
  template <typename Body>
  static DEVICE void for_each_column(Body body) {
    UNROLL_LOOP
    for (int s = 0; s < column_slots; ++s) {
      body(s, s / 2 * 8 + static_cast<int>(lane_index()) % 4 * 2 + s % 2);
    }
  }
  static DEVICE bool first_in_column() { return lane_index() < 4; }
  /// Calls body(slot, sum) for the elements of this lane; `slot` in Rows is that of the element's
  /// row.
  template <typename Body>
  DEVICE void for_each_in_rows(Body body) {
    UNROLL_LOOP
    for (int i = 0; i < M / 16; ++i) {
      UNROLL_LOOP
      for (int j = 0; j < N / 8; ++j) {
        UNROLL_LOOP
        for (int r = 0; r < 4; ++r) body(2 * i + r / 2, sums_[i][j][r]);
      }
    }
  }

 private:
  float sums_[M / 16][N / 8][4];
};

}  // namespace
