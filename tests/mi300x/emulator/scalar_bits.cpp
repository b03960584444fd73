// Scalar logic, shifts, fields and counts of bits.
#include <bit>

#include "emulator/scalar_operation.h"

namespace mi300x {

namespace {

template <class T>
constexpr unsigned width = 8 * sizeof(T);

void add_logic(ScalarTable table) {
  table.add_nonzero<[](u32 a) { return ~a; }>("s_not_b32");
  table.add_nonzero<[](u64 a) { return ~a; }>("s_not_b64");
  table.add_nonzero<[](u32 a, u32 b) { return a & b; }>("s_and_b32");
  table.add_nonzero<[](u64 a, u64 b) { return a & b; }>("s_and_b64");
  table.add_nonzero<[](u32 a, u32 b) { return a | b; }>("s_or_b32");
  table.add_nonzero<[](u64 a, u64 b) { return a | b; }>("s_or_b64");
  table.add_nonzero<[](u32 a, u32 b) { return a ^ b; }>("s_xor_b32");
  table.add_nonzero<[](u64 a, u64 b) { return a ^ b; }>("s_xor_b64");
  table.add_nonzero<[](u32 a, u32 b) { return a & ~b; }>("s_andn2_b32");
  table.add_nonzero<[](u64 a, u64 b) { return a & ~b; }>("s_andn2_b64");
  table.add_nonzero<[](u32 a, u32 b) { return a | ~b; }>("s_orn2_b32");
  table.add_nonzero<[](u64 a, u64 b) { return a | ~b; }>("s_orn2_b64");
  table.add_nonzero<[](u32 a, u32 b) { return ~(a & b); }>("s_nand_b32");
  table.add_nonzero<[](u64 a, u64 b) { return ~(a & b); }>("s_nand_b64");
  table.add_nonzero<[](u32 a, u32 b) { return ~(a | b); }>("s_nor_b32");
  table.add_nonzero<[](u64 a, u64 b) { return ~(a | b); }>("s_nor_b64");
  table.add_nonzero<[](u32 a, u32 b) { return ~(a ^ b); }>("s_xnor_b32");
  table.add_nonzero<[](u64 a, u64 b) { return ~(a ^ b); }>("s_xnor_b64");
}

void add_shifts(ScalarTable table) {
  table.add_nonzero<[](u32 a, u32 b) { return a << (b & 31); }>("s_lshl_b32");
  table.add_nonzero<[](u64 a, u32 b) { return a << (b & 63); }>("s_lshl_b64");
  table.add_nonzero<[](u32 a, u32 b) { return (a >> (b & 31)); }>("s_lshr_b32");
  table.add_nonzero<[](u64 a, u32 b) { return (a >> (b & 63)); }>("s_lshr_b64");
  table.add_nonzero<[](i32 a, u32 b) { return (a >> (b & 31)); }>("s_ashr_i32");
  table.add_nonzero<[](i64 a, u32 b) { return (a >> (b & 63)); }>("s_ashr_i64");
}

/// Extracts a field of S1[22:16] bits that begins at S1[4:0] (or [5:0]). Bits beyond the top are
/// the sign of an arithmetic shift.
template <class T>
T field(T x, u32 place) {
  const unsigned start = place & (width<T> - 1), count = place >> 16 & 0x7F;
  if (count == 0) return 0;
  if (start + count >= width<T>) return T(x >> start);
  const unsigned left = width<T> - start - count;
  return T(T(std::make_unsigned_t<T>(x) << left) >> (left + start));
}
template <class T>
T mask_of_bits(u32 count, u32 start) {
  return T(((T{1} << (count & (width<T> - 1))) - 1) << (start & (width<T> - 1)));
}

template <class T>
T reversed(T x) {
  T result = 0;
  for (unsigned i = 0; i < width<T>; ++i) result |= (x >> i & 1) << (width<T> - 1 - i);
  return result;
}
/// Reduces each nonzero group of four bits to one bit, or expands it to four.
template <class T>
T quad_mask(T x) {
  T result = 0;
  for (unsigned i = 0; i < width<T> / 4; ++i) result |= T{(x >> (4 * i) & 0xF) != 0} << i;
  return result;
}
template <class T>
T whole_quads(T x) {
  T result = 0;
  for (unsigned i = 0; i < width<T>; i += 4)
    if (x >> i & 0xF) result |= T{0xF} << i;
  return result;
}
u64 each_bit_twice(u32 x) {
  u64 result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= (u64{x >> i & 1} * 3) << (2 * i);
  return result;
}

void add_fields(ScalarTable table) {
  table.add_nonzero<field<u32>>("s_bfe_u32");
  table.add_nonzero<field<i32>>("s_bfe_i32");
  table.add_nonzero<field<u64>>("s_bfe_u64");
  table.add_nonzero<field<i64>>("s_bfe_i64");
  table.add<mask_of_bits<u32>>("s_bfm_b32");
  table.add<mask_of_bits<u64>>("s_bfm_b64");
  table.add<reversed<u32>>("s_brev_b32");
  table.add<reversed<u64>>("s_brev_b64");
  table.add_nonzero<quad_mask<u32>>("s_quadmask_b32");
  table.add_nonzero<quad_mask<u64>>("s_quadmask_b64");
  table.add_nonzero<whole_quads<u32>>("s_wqm_b32");
  table.add_nonzero<whole_quads<u64>>("s_wqm_b64");
  table.add<each_bit_twice>("s_bitreplicate_b64_b32");

  table.add<[](Old<u32> old, u32 bit) { return old.value & ~(u32{1} << (bit & 31)); }>(
      "s_bitset0_b32");
  table.add<[](Old<u32> old, u32 bit) { return old.value | u32{1} << (bit & 31); }>(
      "s_bitset1_b32");
  table.add<[](Old<u64> old, u32 bit) { return old.value & ~(u64{1} << (bit & 63)); }>(
      "s_bitset0_b64");
  table.add<[](Old<u64> old, u32 bit) { return old.value | u64{1} << (bit & 63); }>(
      "s_bitset1_b64");
  table.add<[](u32 a, u32 bit) { return ((a >> (bit & 31)) & 1) == 0; }>("s_bitcmp0_b32");
  table.add<[](u32 a, u32 bit) { return ((a >> (bit & 31)) & 1) == 1; }>("s_bitcmp1_b32");
  table.add<[](u64 a, u32 bit) { return ((a >> (bit & 63)) & 1) == 0; }>("s_bitcmp0_b64");
  table.add<[](u64 a, u32 bit) { return ((a >> (bit & 63)) & 1) == 1; }>("s_bitcmp1_b64");
}

template <class T>
i32 first_set(T x) {
  return x ? std::countr_zero(x) : -1;
}
template <class T>
i32 first_set_from_top(T x) {
  return x ? std::countl_zero(x) : -1;
}
/// Returns the position of the first bit from the top that differs from the sign.
template <class T>
i32 sign_run(T x) {
  using Unsigned = std::make_unsigned_t<T>;
  return first_set_from_top(Unsigned(x < 0 ? ~x : x));
}

void add_counts(ScalarTable table) {
  table.add_nonzero<[](u32 a) { return u32(std::popcount(a)); }>("s_bcnt1_i32_b32");
  table.add_nonzero<[](u64 a) { return u32(std::popcount(a)); }>("s_bcnt1_i32_b64");
  table.add_nonzero<[](u32 a) { return u32(std::popcount(~a)); }>("s_bcnt0_i32_b32");
  table.add_nonzero<[](u64 a) { return u32(std::popcount(~a)); }>("s_bcnt0_i32_b64");
  table.add<first_set<u32>>("s_ff1_i32_b32");
  table.add<first_set<u64>>("s_ff1_i32_b64");
  table.add<[](u32 a) { return first_set(~a); }>("s_ff0_i32_b32");
  table.add<[](u64 a) { return first_set(~a); }>("s_ff0_i32_b64");
  table.add<first_set_from_top<u32>>("s_flbit_i32_b32");
  table.add<first_set_from_top<u64>>("s_flbit_i32_b64");
  table.add<sign_run<i32>>("s_flbit_i32");
  table.add<sign_run<i64>>("s_flbit_i32_i64");
}

}  // namespace

void add_scalar_bits(ScalarTable table) {
  add_logic(table);
  add_shifts(table);
  add_fields(table);
  add_counts(table);
}

}  // namespace mi300x
