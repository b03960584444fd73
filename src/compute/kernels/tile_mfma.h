// WaveTile (tile.h) on CDNA: MFMA 32x32x8 and 16x16x16, whose bf16 forms exist from gfx90a on.
#pragma once

#include "conversions.h"
#include "tile_memory.h"

namespace {

typedef short MatrixOperand __attribute__((ext_vector_type(4)));
typedef _Float16 MatrixHalves __attribute__((ext_vector_type(4)));
typedef float MatrixSums4 __attribute__((ext_vector_type(4)));
typedef float MatrixSums16 __attribute__((ext_vector_type(16)));
template <int UNIT>
struct MatrixSums {
  using Type = MatrixSums16;
};
template <>
struct MatrixSums<16> {
  using Type = MatrixSums4;
};

DEVICE MatrixSums16 multiply(Bf16, MatrixOperand a, MatrixOperand b, MatrixSums16 c) {
  return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0);
}
DEVICE MatrixSums4 multiply(Bf16, MatrixOperand a, MatrixOperand b, MatrixSums4 c) {
  return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0);
}
DEVICE MatrixSums16 multiply(F16, MatrixOperand a, MatrixOperand b, MatrixSums16 c) {
  return __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(MatrixHalves, a),
                                              __builtin_bit_cast(MatrixHalves, b), c, 0, 0, 0);
}
DEVICE MatrixSums4 multiply(F16, MatrixOperand a, MatrixOperand b, MatrixSums4 c) {
  return __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(MatrixHalves, a),
                                               __builtin_bit_cast(MatrixHalves, b), c, 0, 0, 0);
}

constexpr int least_columns = 16;

template <typename T, int M, int N>
class WaveTile {
  static_assert(M % 16 == 0 && N % 16 == 0, "made of 16 x 16");

 public:
  static constexpr int rows = M, columns = N;

 private:
  // Where it fits, 32 x 32 x 8 needs half the operand reads of 16 x 16 x 16.
  static constexpr int unit = M % 32 == 0 && N % 32 == 0 ? 32 : 16;
  static constexpr int groups = 64 / unit;          // lanes / unit: groups along depth
  static constexpr int steps = unit == 32 ? 2 : 1;  // instructions per tile_depth
  static constexpr int registers = unit == 32 ? 16 : 4;
  static constexpr int i_units = M / unit, j_units = N / unit;

 public:
  static constexpr int parts = groups;
  static DEVICE int depth_part() { return static_cast<int>(lane_index()) / unit; }
  static DEVICE int depth_of(int e) { return depth_part() * (4 * steps) + e; }
  using Elements = Pack<T, tile_depth / parts>;

 private:
  /// Lane l holds line l % unit and, along the depth, the 4 * steps elements from 4 * steps * (l /
  /// unit) on. Both operands use the same order, so the instructions may take the elements in any
  /// order.
  template <int UNITS>
  struct Operand {
    MatrixOperand part[UNITS][steps];
    static constexpr int lines = UNITS;
    static DEVICE int line(int slot) { return unit * slot + static_cast<int>(lane_index()) % unit; }
    DEVICE void set(int slot, const Elements& elements) {
      struct Steps {
        MatrixOperand step[steps];
      };
      const auto both = bits_as<Steps>(elements);
      UNROLL_LOOP
      for (int s = 0; s < steps; ++s) part[slot][s] = both.step[s];
    }
    template <Order ORDER, typename Tile>
    DEVICE void load(const Tile& tile, int line, int depth) {
      const int lane = static_cast<int>(lane_index());
      const int first = depth + lane / unit * (4 * steps);
      UNROLL_LOOP
      for (int i = 0; i < UNITS; ++i) {
        union {
          MatrixOperand part[steps];
          u16 element[4 * steps];
        } both;
        if constexpr (ORDER == Order::depth_last) {
          const auto* from = reinterpret_cast<const MatrixOperand*>(
                                 tile.chunk(line + unit * i, lane % unit, first / 8)) +
                             first % 8 / 4;
          UNROLL_LOOP
          for (int s = 0; s < steps; ++s) both.part[s] = from[s];
        } else {
          UNROLL_LOOP
          for (int e = 0; e < 4 * steps; ++e) {
            both.element[e] =
                *reinterpret_cast<const u16*>(&tile.at(first + e, line + unit * i + lane % unit));
          }
        }
        UNROLL_LOOP
        for (int s = 0; s < steps; ++s) part[i][s] = both.part[s];
      }
    }
    template <typename Sums, typename Tile>
    DEVICE void take(const Sums&, const Tile& staged, int row, int depth) {
      load<Order::depth_last>(staged, row, depth);
    }
    /// Lanes hold sums as this operand wants them, in tiles of 16 rows.
    DEVICE void take(const WaveTile<T, tile_depth, UNITS * 16>& sums) {
      static_assert(unit == 16, "of 16 x 16");
      UNROLL_LOOP
      for (int j = 0; j < UNITS; ++j) {
        Pack<float, 4> numbers;
        UNROLL_LOOP
        for (int r = 0; r < 4; ++r) numbers.v[r] = sums.register_of(j, r);
        part[j][0] = bits_as<MatrixOperand>(from_floats<T, 4>(numbers));
      }
    }
  };

 public:
  using Left = Operand<i_units>;
  using Right = Operand<j_units>;
  DEVICE void fill(float value) {
    UNROLL_LOOP
    for (int i = 0; i < i_units; ++i) {
      UNROLL_LOOP
      for (int j = 0; j < j_units; ++j) {
        UNROLL_LOOP
        for (int r = 0; r < registers; ++r) sums_[i][j][r] = value;
      }
    }
  }
  DEVICE void multiply_add(const Left& left, const Right& right) {
    UNROLL_LOOP
    for (int s = 0; s < steps; ++s) {
      UNROLL_LOOP
      for (int i = 0; i < i_units; ++i) {
        UNROLL_LOOP
        for (int j = 0; j < j_units; ++j) {
          sums_[i][j] = multiply(T{}, left.part[i][s], right.part[j][s], sums_[i][j]);
        }
      }
    }
  }
  template <typename Body>
  DEVICE void for_each(Body body) {
    for_each_with(*this, [&](int row, int column, float& sum, float) { body(row, column, sum); });
  }
  template <typename Body>
  DEVICE void for_each_with(const WaveTile& other, Body body) {
    const int lane = static_cast<int>(lane_index());
    UNROLL_LOOP
    for (int i = 0; i < i_units; ++i) {
      UNROLL_LOOP
      for (int j = 0; j < j_units; ++j) {
        UNROLL_LOOP
        for (int r = 0; r < registers; ++r) {
          float sum = sums_[i][j][r];
          body(unit * i + r / 4 * 8 + lane / unit * 4 + r % 4, unit * j + lane % unit, sum,
               other.sums_[i][j][r]);
          sums_[i][j][r] = sum;
        }
      }
    }
  }
  /// Returns a sum of this lane in a tile of 16 rows.
  DEVICE float register_of(int j, int r) const { return sums_[0][j][r]; }
  static constexpr bool sums_are_operands = false;
  template <typename Tile>
  DEVICE void put(const Tile& tile, int row, int column = 0) {
    for_each([&](int i, int j, float sum) { tile.at(row + i, column + j) = encode<T>(sum); });
    wave_barrier();
  }
  template <typename Body>
  static DEVICE void for_each_row(Body body) {
    const int lane = static_cast<int>(lane_index());
    UNROLL_LOOP
    for (int s = 0; s < row_slots; ++s) {
      const int r = s % registers;
      body(s, unit * (s / registers) + r / 4 * 8 + lane / unit * 4 + r % 4);
    }
  }
  static DEVICE bool first_in_row() { return lane_index() % unit == 0; }
  static constexpr int row_slots = i_units * registers;
  struct Rows {
    float slot[row_slots];
  };
  template <typename Combine>
  DEVICE Rows reduce_rows(Combine combine) const {
    Rows result;
    UNROLL_LOOP
    for (int s = 0; s < row_slots; ++s) {
      float value = sums_[s / registers][0][s % registers];
      UNROLL_LOOP
      for (int j = 1; j < j_units; ++j) {
        value = combine(value, sums_[s / registers][j][s % registers]);
      }
      result.slot[s] = team_reduce(value, combine, unit);
    }
    return result;
  }
  static constexpr int column_slots = j_units;
  struct Columns {
    float slot[column_slots];
  };
  template <typename Combine>
  DEVICE Columns reduce_columns(Combine combine) const {
    Columns result;
    UNROLL_LOOP
    for (int s = 0; s < column_slots; ++s) {
      float value = sums_[0][s][0];
      UNROLL_LOOP
      for (int i = 0; i < i_units * registers; ++i) {
        if (i > 0) value = combine(value, sums_[i / registers][s][i % registers]);
      }
      UNROLL_LOOP
      for (u32 mask = unit; mask < wave_width; mask *= 2) {
        value = combine(value, shuffle_xor(value, mask));
      }
      result.slot[s] = value;
    }
    return result;
  }
  template <typename Body>
  DEVICE void for_each_in_columns(Body body) {
    UNROLL_LOOP
    for (int i = 0; i < i_units; ++i) {
      UNROLL_LOOP
      for (int j = 0; j < j_units; ++j) {
        UNROLL_LOOP
        for (int r = 0; r < registers; ++r) {
          float sum = sums_[i][j][r];
          body(j, sum);
          sums_[i][j][r] = sum;
        }
      }
    }
  }
  template <typename Body>
  static DEVICE void for_each_column(Body body) {
    UNROLL_LOOP
    for (int s = 0; s < column_slots; ++s) {
      body(s, unit * s + static_cast<int>(lane_index()) % unit);
    }
  }
  static DEVICE bool first_in_column() { return lane_index() < unit; }
  template <typename Body>
  DEVICE void for_each_in_rows(Body body) {
    UNROLL_LOOP
    for (int i = 0; i < i_units; ++i) {
      UNROLL_LOOP
      for (int j = 0; j < j_units; ++j) {
        UNROLL_LOOP
        for (int r = 0; r < registers; ++r) {
          float sum = sums_[i][j][r];
          body(i * registers + r, sum);
          sums_[i][j][r] = sum;
        }
      }
    }
  }

 private:
  typename MatrixSums<unit>::Type sums_[i_units][j_units];
};

}  // namespace
