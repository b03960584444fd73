// Sums over the bytes, halves or nibbles of a register: integer dot products, sums of absolute
// differences, averages. Some are left out, because their overflow or their intermediate rounding
// is not documented: v_dot2_f32_f16, v_dot2c_f32_f16, v_qsad_pk_u16_u8, v_mqsad_*.
#include "emulator/vector_operation.h"

namespace mi300x {

namespace {

/// Returns part `n` of `bits` bits, sign-extended if signed.
template <unsigned bits, bool is_signed>
i64 part(u32 x, unsigned n) {
  const u32 left = x << (32 - bits * (n + 1));
  if constexpr (is_signed) return i32(left) >> (32 - bits);
  return left >> (32 - bits);
}

template <unsigned bits, bool is_signed>
i64 exact_dot(u32 a, u32 b, u32 c) {
  i64 sum = is_signed ? i64{i32(c)} : i64{c};
  for (unsigned n = 0; n < 32 / bits; ++n)
    sum += part<bits, is_signed>(a, n) * part<bits, is_signed>(b, n);
  return sum;
}
template <unsigned bits, bool is_signed>
u32 dot(u32 a, u32 b, u32 c) {
  return u32(exact_dot<bits, is_signed>(a, b, c));
}
template <unsigned bits, bool is_signed>
u32 saturated_dot(u32 a, u32 b, u32 c) {
  const i64 exact = exact_dot<bits, is_signed>(a, b, c);
  if constexpr (is_signed)
    return u32(saturated<[](i64 x) { return x; }, i32>(exact));
  else
    return saturated<[](i64 x) { return x; }, u32>(exact);
}

template <unsigned bits, bool is_signed, Options options>
void execute_dot(Wave& wave, const Instruction& instruction) {
  const u8 used = options.accumulates ? 3 : 7;
  if (instruction.op_sel & used || (instruction.op_sel_hi & used) != used)
    not_emulated(instruction, "op_sel of a dot product");
  if (instruction.neg_lo || instruction.neg_hi)
    not_emulated(instruction, "signs of a dot product of integers");
  using Signature = u32 (*)(u32, u32, u32);
  constexpr Options clamping{.accumulates = options.accumulates, .saturates = true};
  if (instruction.clamp)
    Executor<saturated_dot<bits, is_signed>, clamping, Signature>::execute(wave, instruction);
  else
    Executor<dot<bits, is_signed>, options, Signature>::execute(wave, instruction);
}

u32 distance(u32 a, u32 b) {
  return a < b ? b - a : a - b;
}
/// Sums absolute differences of parts. `masked`: parts that are 0 in the reference do not count.
template <unsigned bits, bool masked>
u32 differences(u32 a, u32 reference) {
  u32 sum = 0;
  for (unsigned n = 0; n < 32 / bits; ++n) {
    const u32 x = u32(part<bits, false>(a, n)), y = u32(part<bits, false>(reference, n));
    sum += masked && y == 0 ? 0 : distance(x, y);
  }
  return sum;
}

u32 averages(u32 a, u32 b, u32 rounding) {
  u32 result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const u32 sum = u32(part<8, false>(a, n) + part<8, false>(b, n));
    result |= (sum + (rounding >> (8 * n) & 1)) >> 1 << (8 * n);
  }
  return result;
}

template <unsigned bits, bool is_signed>
void add_dot(VectorTable table, std::string_view name, std::string_view onto_target = {}) {
  constexpr Type type = bits == 16 ? Type::packed_b16 : Type::b32;
  table.add_special(name, execute_dot<bits, is_signed, Options{}>, {type, type, Type::b32});
  if (onto_target.empty()) return;
  constexpr Options accumulates{.accumulates = true};
  table.add_special(onto_target, execute_dot<bits, is_signed, accumulates>, {type, type})
      .reads_target = true;
}

}  // namespace

void add_dots(VectorTable table) {
  add_dot<16, true>(table, "v_dot2_i32_i16", "v_dot2c_i32_i16");
  add_dot<16, false>(table, "v_dot2_u32_u16");
  add_dot<8, true>(table, "v_dot4_i32_i8", "v_dot4c_i32_i8");
  add_dot<8, false>(table, "v_dot4_u32_u8");
  add_dot<4, true>(table, "v_dot8_i32_i4", "v_dot8c_i32_i4");
  add_dot<4, false>(table, "v_dot8_u32_u4");

  table.add<[](u32 a, u32 b, u32 c) { return differences<8, false>(a, b) + c; }>("v_sad_u8");
  table.add<[](u32 a, u32 b, u32 c) { return (differences<8, false>(a, b) << 16) + c; }>(
      "v_sad_hi_u8");
  table.add<[](u32 a, u32 b, u32 c) { return differences<16, false>(a, b) + c; }>("v_sad_u16");
  table.add<[](u32 a, u32 b, u32 c) { return distance(a, b) + c; }>("v_sad_u32");
  table.add<[](u32 a, u32 b, u32 c) { return differences<8, true>(a, b) + c; }>("v_msad_u8");
  table.add<averages>("v_lerp_u8");
}

}  // namespace mi300x
