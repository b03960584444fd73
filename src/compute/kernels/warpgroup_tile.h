// Products of a warpgroup, which is four waves, 64 rows high, from tiles in shared memory. On
// Hopper they are wgmma's: the matrix units read the tiles themselves while the waves compute
// something else, until await_products(). On other GPUs every wave computes its 16 rows at once
// with its own units (tile.h), and there is nothing to await. On the CPU the one thread of a block
// is the group.
//
// A wave's rows of a product are always a WaveTile, so code that uses the sums is the same
// everywhere. Descriptors of tiles: PTX ISA, "Matrix descriptor" and "Strides" of wgmma.
#pragma once

#include "conversions.h"
#include "tile.h"

#if defined(ON_CUDA)
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)  // code for sm_90a
#define ON_WGMMA 1
#endif
#endif

namespace {

constexpr int group_rows = 64;
#if defined(ON_CPU)
constexpr int group_waves = 1;
#else
constexpr int group_waves = 4;
#endif

/// One wave's rows of the group's 64 x N sums.
template <typename T, int N>
using GroupTile = WaveTile<T, group_rows / group_waves, N>;

/// A matrix in shared memory as panels of 64 columns, one after the other. Rows of a panel have 128
/// bytes, and the chunk order of SharedTile is then wgmma's 128-byte swizzle. It must begin at a
/// multiple of 1024 bytes.
template <typename T, int ROWS, int COLUMNS>
struct PanelTile {
  static constexpr int rows = ROWS, columns = COLUMNS, elements = ROWS * COLUMNS;
  static constexpr int row_chunks = COLUMNS / chunk_elements, panel_columns = 64;
  static constexpr int panels = COLUMNS / panel_columns, panel_chunks = row_chunks / panels;
  static_assert(panels * panel_columns == COLUMNS && ROWS % 8 == 0, "whole panels");
  using Panel = SharedTile<T, ROWS, panel_columns>;
  T* data;

  DEVICE Panel panel(int i) const { return {data + i * Panel::elements}; }
  DEVICE T* chunk(int first, int row, int chunk) const {
    return panel(chunk / panel_chunks).chunk(first, row, chunk % panel_chunks);
  }
  DEVICE T& at(int row, int column) const {
    return chunk(0, row, column / chunk_elements)[column % chunk_elements];
  }
};

/// Copies a tile's panels; `shift` is that of TileCopy::begin().
template <typename Copy, typename Tile>
DEVICE void copy_panels(Copy& copy, const Tile& to, u64 shift = 0) {
  UNROLL_LOOP
  for (int i = 0; i < Tile::panels; ++i) {
    copy.begin(to.panel(i), shift + i * Tile::panel_columns);
    copy.end(to.panel(i));
  }
}

/// Returns the first multiple of 1024 bytes in the launch's dynamic shared memory, which must have
/// 1024 bytes to spare.
template <typename T>
DEVICE T* memory_of_panels() {
  auto* const memory = static_cast<T*>(dynamic_shared());
  return memory + (1024 - reinterpret_cast<u64>(memory) % 1024) % 1024 / sizeof(T);
}

/// Makes this thread's copies and stores to shared memory visible to wgmma after the next barrier.
DEVICE void show_to_products() {
#if defined(ON_WGMMA)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Waits until at most N of the products that this wave began are still in flight.
template <int N>
DEVICE void await_products() {
#if defined(ON_WGMMA)
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
#endif
}

#if defined(ON_WGMMA)

#define FOUR(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define SIXTEEN(j) FOUR(j), FOUR(j + 1), FOUR(j + 2), FOUR(j + 3)
#define SUMS_OF_64 SIXTEEN(0), SIXTEEN(4)
#define SUMS_OF_128 SUMS_OF_64, SIXTEEN(8), SIXTEEN(12)
#define REGISTERS_OF_64                                                                         \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24," \
  "%25,%26,%27,%28,%29,%30,%31}"
#define REGISTERS_OF_128                                                                         \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,"  \
  "%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"

/// Computes d[64 x N] (+)= a b, 16 deep. Either a and b are given by descriptors, or a is in
/// registers and b is stored with the depth along its rows.
template <int N>
struct Wgmma;
// A to E are the numbers of the operands that follow the sums.
#define WGMMA_OF(N, T, type, A, B, C, D, E)                                             \
  template <int DEPTH_FIRST>                                                            \
  static DEVICE void add(T, float(&d)[N / 8][4], u64 a, u64 b, u32 to_sums) {           \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" #C                                   \
                 ", 0;"                                                                 \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type        \
                 " " REGISTERS_OF_##N ", %" #A ", %" #B ", p, 1, 1, %" #D ", %" #D ";}" \
                 : SUMS_OF_##N                                                          \
                 : "l"(a), "l"(b), "r"(to_sums), "n"(DEPTH_FIRST));                     \
  }                                                                                     \
  static DEVICE void add(T, float(&d)[N / 8][4], const u32(&a)[4], u64 b) {             \
    asm volatile("{.reg .pred p; setp.eq.u32 p, %" #A ", %" #A                          \
                 ";"                                                                    \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type        \
                 " " REGISTERS_OF_##N ", {%" #A ", %" #B ", %" #C ", %" #D "}, %" #E    \
                                      ", p, 1, 1, 1;}"                                  \
                 : SUMS_OF_##N                                                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                 \
  }
template <>
struct Wgmma<64> {
  WGMMA_OF(64, Bf16, "bf16", 32, 33, 34, 35, 36)
  WGMMA_OF(64, F16, "f16", 32, 33, 34, 35, 36)
};
template <>
struct Wgmma<128> {
  WGMMA_OF(128, Bf16, "bf16", 64, 65, 66, 67, 68)
  WGMMA_OF(128, F16, "f16", 64, 65, 66, 67, 68)
};

/// Describes a matrix in panels, swizzled by 128 bytes. `leading` is the distance in bytes between
/// panels if the depth runs across rows (otherwise unused); `stride` is that between groups of
/// eight rows.
DEVICE u64 describe(const void* shared, u32 leading, u32 stride) {
  const u32 address = static_cast<u32>(__cvta_generic_to_shared(shared));
  constexpr u64 swizzle_of_128 = u64{1} << 62;
  return swizzle_of_128 | u64{stride / 16} << 32 | u64{leading / 16} << 16 |
         (address & 0x3FFFF) / 16;
}

/// Must precede products that read or write registers which the wave has used. It also reconverges
/// the lanes, because the instruction needs all of them.
DEVICE void show_registers() {
  wave_barrier();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
DEVICE void close_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Keeps the compiler from moving uses of the sums across this point.
template <typename Sums>
DEVICE void pin(Sums& sums) {
  auto& d = sums.registers()[0];
  UNROLL_LOOP
  for (auto& four : d) {
    UNROLL_LOOP
    for (float& x : four) asm volatile("" : "+f"(x)::"memory");
  }
}

/// Begins sums = left right^T, over all columns. Uses the group's 64 rows of left from `row` on and
/// all rows of right.
template <typename T, int N, typename Left>
DEVICE void begin_product(GroupTile<T, N>& sums, const Left& left, int row,
                          const PanelTile<T, N, Left::columns>& right) {
  constexpr u32 eight_rows = 8 * Left::panel_columns * sizeof(T);
  pin(sums);
  show_registers();
  UNROLL_LOOP
  for (int k = 0; k < Left::columns; k += tile_depth) {
    const int panel = k / Left::panel_columns, column = k % Left::panel_columns;
    Wgmma<N>::template add<0>(
        T{}, sums.registers()[0],
        describe(left.panel(panel).data + row * Left::panel_columns + column, 16, eight_rows),
        describe(right.panel(panel).data + column, 16, eight_rows), k > 0);
  }
  close_products();
}

/// The left operand of a product, taken from the sums of another product.
template <typename T, int N>
struct Weights {
  u32 part[N / tile_depth][4];

  template <typename Scratch>
  DEVICE void take(GroupTile<T, N>& sums, const Scratch&, int) {
    UNROLL_LOOP
    for (int k = 0; k < N / tile_depth; ++k) {
      UNROLL_LOOP
      for (int r = 0; r < 4; ++r) part[k][r] = sums.pair(0, 2 * k + r / 2, r % 2);
    }
  }
};

/// Begins sums += weights right.
template <typename T, int N, int DEPTH, typename Scratch>
DEVICE void begin_product(GroupTile<T, N>& sums, const Weights<T, DEPTH>& weights, const Scratch&,
                          int, const PanelTile<T, DEPTH, N>& right) {
  using Right = PanelTile<T, DEPTH, N>;
  constexpr u32 row_bytes = Right::panel_columns * sizeof(T);
  pin(sums);
  show_registers();
  UNROLL_LOOP
  for (int k = 0; k < DEPTH; k += tile_depth) {
    Wgmma<N>::add(
        T{}, sums.registers()[0], weights.part[k / tile_depth],
        describe(right.data + k * Right::panel_columns, DEPTH * row_bytes, 8 * row_bytes));
  }
  close_products();
}

/// Begins sums = left^T right; the depth is all rows. Left is the panel of 64 columns from `row`
/// on, which give the group's rows of the product. Right is N columns from `column` on, in whole
/// panels.
template <typename T, int N, typename Left, typename Right>
DEVICE void begin_transposed_product(GroupTile<T, N>& sums, const Left& left, int row,
                                     const Right& right, int column) {
  constexpr u32 row_bytes = Left::panel_columns * sizeof(T);
  const T* const x = left.panel(row / Left::panel_columns).data;
  const T* const y = right.panel(column / Right::panel_columns).data;
  pin(sums);
  show_registers();
  UNROLL_LOOP
  for (int k = 0; k < Left::rows; k += tile_depth) {
    Wgmma<N>::template add<1>(
        T{}, sums.registers()[0],
        describe(x + k * Left::panel_columns, Left::rows * row_bytes, 8 * row_bytes),
        describe(y + k * Right::panel_columns, Right::rows * row_bytes, 8 * row_bytes), k > 0);
  }
  close_products();
}

#else

template <typename Sums>
DEVICE void pin(Sums&) {}

template <typename T, int N, typename Left, typename Right>
DEVICE void begin_transposed_product(GroupTile<T, N>& sums, const Left& left, int row,
                                     const Right& right, int column) {
  sums.fill(0);
  row += static_cast<int>(wave_index()) % group_waves * GroupTile<T, N>::rows;
  UNROLL_LOOP
  for (int k = 0; k < Left::rows; k += tile_depth) {
    typename GroupTile<T, N>::Left x;
    typename GroupTile<T, N>::Right y;
    x.template load<Order::depth_first>(left, row, k);
    y.template load<Order::depth_first>(right, column, k);
    sums.multiply_add(x, y);
  }
}

template <typename T, int N, typename Left>
DEVICE void begin_product(GroupTile<T, N>& sums, const Left& left, int row,
                          const PanelTile<T, N, Left::columns>& right) {
  sums.fill(0);
  row += static_cast<int>(wave_index()) % group_waves * GroupTile<T, N>::rows;
  UNROLL_LOOP
  for (int k = 0; k < Left::columns; k += tile_depth) {
    typename GroupTile<T, N>::Left x;
    typename GroupTile<T, N>::Right y;
    x.template load<Order::depth_last>(left, row, k);
    y.template load<Order::depth_last>(right, 0, k);
    sums.multiply_add(x, y);
  }
}

/// The left operand of a product, taken from the sums of another product. The sums are in
/// `scratch`, from the wave's row on.
template <typename T, int N>
struct Weights {
  template <typename Scratch>
  DEVICE void take(GroupTile<T, N>& sums, const Scratch& scratch, int row) {
    wave_barrier();  // until no lane reads the earlier sums any more
    sums.put(scratch, row);
  }
};

template <typename T, int N, int DEPTH, typename Scratch>
DEVICE void begin_product(GroupTile<T, N>& sums, const Weights<T, DEPTH>&, const Scratch& scratch,
                          int row, const PanelTile<T, DEPTH, N>& right) {
  UNROLL_LOOP
  for (int k = 0; k < DEPTH; k += tile_depth) {
    typename GroupTile<T, N>::Left x;
    typename GroupTile<T, N>::Right y;
    x.template load<Order::depth_last>(scratch, row, k);
    y.template load<Order::depth_first>(right, 0, k);
    sums.multiply_add(x, y);
  }
}

#endif

}  // namespace
