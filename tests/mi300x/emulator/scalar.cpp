// Scalar arithmetic, logic and comparisons (SOP1, SOP2, SOPC, SOPK).
#include <algorithm>

#include "emulator/fault.h"
#include "emulator/memory_map.h"
#include "emulator/scalar_operation.h"

namespace mi300x {

namespace {

WithScc<u32> sum(u32 a, u32 b, bool carry) {
  const u64 wide = u64{a} + b + carry;
  return {u32(wide), wide >> 32 != 0};
}
WithScc<u32> difference(u32 a, u32 b, bool borrow) {
  return {a - b - borrow, u64{b} + borrow > a};
}
/// The condition code of signed sums is overflow.
WithScc<i32> signed_sum(i32 a, i32 b) {
  const i64 wide = i64{a} + b;
  return {i32(wide), wide != i32(wide)};
}
WithScc<i32> signed_difference(i32 a, i32 b) {
  const i64 wide = i64{a} - b;
  return {i32(wide), wide != i32(wide)};
}
template <unsigned shift>
WithScc<u32> shifted_sum(u32 a, u32 b) {
  const u64 wide = (u64{a} << shift) + b;
  return {u32(wide), wide >> 32 != 0};
}

u32 magnitude(i32 a) {
  return a < 0 ? 0 - u32(a) : u32(a);
}

void add_arithmetic(ScalarTable table) {
  table.add<[](u32 a, u32 b) { return sum(a, b, false); }>("s_add_u32");
  table.add<[](u32 a, u32 b, Scc carry) { return sum(a, b, carry.set); }>("s_addc_u32");
  table.add<[](u32 a, u32 b) { return difference(a, b, false); }>("s_sub_u32");
  table.add<[](u32 a, u32 b, Scc borrow) { return difference(a, b, borrow.set); }>("s_subb_u32");
  table.add<signed_sum>("s_add_i32");
  table.add<signed_difference>("s_sub_i32");
  table.add<[](Old<i32> a, i32 b) { return signed_sum(a.value, b); }>("s_addk_i32");
  table.add<shifted_sum<1>>("s_lshl1_add_u32");
  table.add<shifted_sum<2>>("s_lshl2_add_u32");
  table.add<shifted_sum<3>>("s_lshl3_add_u32");
  table.add<shifted_sum<4>>("s_lshl4_add_u32");
  table.add_nonzero<magnitude>("s_abs_i32");
  // Of the difference in 32 bits, though it may have wrapped.
  table.add_nonzero<[](u32 a, u32 b) { return magnitude(i32(a - b)); }>("s_absdiff_i32");

  table.add<[](u32 a, u32 b) { return a * b; }>("s_mul_i32");
  table.add<[](Old<u32> a, u32 b) { return a.value * b; }>("s_mulk_i32");
  table.add<[](u32 a, u32 b) { return u32((u64{a} * b) >> 32); }>("s_mul_hi_u32");
  table.add<[](i32 a, i32 b) { return u32(u64(i64{a} * b) >> 32); }>("s_mul_hi_i32");

  // The condition code tells whether the first operand was taken.
  table.add<[](u32 a, u32 b) { return WithScc<u32>{std::min(a, b), a < b}; }>("s_min_u32");
  table.add<[](i32 a, i32 b) { return WithScc<i32>{std::min(a, b), a < b}; }>("s_min_i32");
  table.add<[](u32 a, u32 b) { return WithScc<u32>{std::max(a, b), (a >= b)}; }>("s_max_u32");
  table.add<[](i32 a, i32 b) { return WithScc<i32>{std::max(a, b), (a >= b)}; }>("s_max_i32");
}

void add_moves(ScalarTable table) {
  table.add<[](u32 a) { return a; }>("s_mov_b32");
  table.add<[](u64 a) { return a; }>("s_mov_b64");
  table.add<[](u32 a) { return a; }>("s_movk_i32");
  table.add<[](u32 a, u32 b, Scc first) { return first.set ? a : b; }>("s_cselect_b32");
  table.add<[](u64 a, u64 b, Scc first) { return first.set ? a : b; }>("s_cselect_b64");
  constexpr auto if_set = [](Old<u32> old, u32 a, Scc moves) { return moves.set ? a : old.value; };
  table.add<if_set>("s_cmov_b32");
  table.add<if_set>("s_cmovk_i32");
  table.add<[](Old<u64> old, u64 a, Scc moves) { return moves.set ? a : old.value; }>("s_cmov_b64");
  table.add<[](u32 a) { return i32(i8(a)); }>("s_sext_i32_i8");
  table.add<[](u32 a) { return i32(i16(a)); }>("s_sext_i32_i16");
  table.add<[](u32 a, u32 b) { return (a & 0xFFFF) | b << 16; }>("s_pack_ll_b32_b16");
  table.add<[](u32 a, u32 b) { return (a & 0xFFFF) | (b & 0xFFFF0000); }>("s_pack_lh_b32_b16");
  table.add<[](u32 a, u32 b) { return (a >> 16) | (b & 0xFFFF0000); }>("s_pack_hh_b32_b16");
}

template <auto predicate>
void add_comparison(ScalarTable table, std::string_view name, std::string_view short_name) {
  table.add<predicate>(name);
  table.add<predicate>(short_name);
}

void add_comparisons(ScalarTable table) {
  add_comparison<[](u32 a, u32 b) { return a == b; }>(table, "s_cmp_eq_u32", "s_cmpk_eq_u32");
  add_comparison<[](u32 a, u32 b) { return a == b; }>(table, "s_cmp_eq_i32", "s_cmpk_eq_i32");
  add_comparison<[](u32 a, u32 b) { return a != b; }>(table, "s_cmp_lg_u32", "s_cmpk_lg_u32");
  add_comparison<[](u32 a, u32 b) { return a != b; }>(table, "s_cmp_lg_i32", "s_cmpk_lg_i32");
  add_comparison<[](u32 a, u32 b) { return (a > b); }>(table, "s_cmp_gt_u32", "s_cmpk_gt_u32");
  add_comparison<[](i32 a, i32 b) { return (a > b); }>(table, "s_cmp_gt_i32", "s_cmpk_gt_i32");
  add_comparison<[](u32 a, u32 b) { return (a >= b); }>(table, "s_cmp_ge_u32", "s_cmpk_ge_u32");
  add_comparison<[](i32 a, i32 b) { return (a >= b); }>(table, "s_cmp_ge_i32", "s_cmpk_ge_i32");
  add_comparison<[](u32 a, u32 b) { return a < b; }>(table, "s_cmp_lt_u32", "s_cmpk_lt_u32");
  add_comparison<[](i32 a, i32 b) { return a < b; }>(table, "s_cmp_lt_i32", "s_cmpk_lt_i32");
  add_comparison<[](u32 a, u32 b) { return a <= b; }>(table, "s_cmp_le_u32", "s_cmpk_le_u32");
  add_comparison<[](i32 a, i32 b) { return a <= b; }>(table, "s_cmp_le_i32", "s_cmpk_le_i32");
  table.add<[](u64 a, u64 b) { return a == b; }>("s_cmp_eq_u64");
  table.add<[](u64 a, u64 b) { return a != b; }>("s_cmp_lg_u64");
}

u64 special_value(const Wave& wave, Special special) {
  switch (special) {
    case Special::vccz:
      return wave.vcc() == 0;
    case Special::execz:
      return wave.exec() == 0;
    case Special::scc:
      return wave.scc;
    case Special::shared_base:
      return shared_aperture;
    case Special::shared_limit:
      return shared_aperture + aperture_bytes - 1;
    case Special::private_base:
      return private_aperture;
    case Special::private_limit:
      return private_aperture + aperture_bytes - 1;
  }
  throw Fault(FaultKind::unknown_instruction, "an operand that is no register");
}

bool is_address(Special special) {
  return special != Special::vccz && special != Special::execz && special != Special::scc;
}

}  // namespace

u64 read_scalar(const Wave& wave, const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::scalar:
      return operand.words == 2 ? wave.scalar64(operand.index) : wave.scalar32(operand.index);
    case OperandKind::constant:
      return operand.constant;
    case OperandKind::special: {
      const auto special = static_cast<Special>(operand.index);
      // LLVM knows that 32-bit reads of these do not work on gfx9.
      if (is_address(special) && operand.words == 1)
        throw Fault(FaultKind::unknown_instruction, "an aperture's address read as 32 bits");
      return special_value(wave, special);
    }
    case OperandKind::none:
    case OperandKind::vector:
      break;
  }
  throw Fault(FaultKind::unknown_instruction, "a scalar operand in a vector register, or none");
}

void add_scalar_arithmetic(ScalarTable table) {
  add_arithmetic(table);
  add_moves(table);
  add_comparisons(table);
}

void add_scalar_operations(OperationTable& operations) {
  const ScalarTable table(operations);
  add_scalar_arithmetic(table);
  add_scalar_bits(table);
  add_scalar_control(table);
}

}  // namespace mi300x
