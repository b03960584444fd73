// Conversions between integers and floats of every width. Left out, because their rounding is not
// documented: v_cvt_norm_*, v_cvt_pknorm_*, v_cvt_pk_u8_f32, v_cvt_pkaccum_u8_f32.
#include "emulator/vector_operation.h"

namespace mi300x {

namespace {

/// Truncates towards zero; values out of range saturate, NaN becomes 0.
template <class Integer, class Float>
Integer cut(Float x) {
  using Limits = std::numeric_limits<Integer>;
  if (is_nan(x)) return 0;
  if (x <= Float(Limits::min())) return Limits::min();
  if (x >= Float(Limits::max())) return Limits::max();
  return Integer(x);
}

template <unsigned byte>
float from_byte(u32 x) {
  return float(x >> (8 * byte) & 0xFF);
}

u32 packed(u32 low, u32 high) {
  return low | high << 16;
}
u32 saturated_byte(i32 x) {
  return u32(std::clamp(x, 0, 255));
}

/// Two 8-bit floats into the half of the target that op_sel names; the other half stays.
template <u8 (*narrow)(float, bool)>
void pack_pair(Wave& wave, const Instruction& instruction) {
  alignas(64) u32 first[wave_lanes], second[wave_lanes], result[wave_lanes];
  const u32* a = fetch32(wave, instruction, 0, first);
  const u32* b = fetch32(wave, instruction, 1, second);
  const bool saturate = wave.mode & mode::f16_overflow;
  for (unsigned i = 0; i < wave_lanes; ++i)
    result[i] = narrow(std::bit_cast<float>(a[i]), saturate) |
                u32{narrow(std::bit_cast<float>(b[i]), saturate)} << 8;
  store16(wave, instruction, result, true);
}

/// One 8-bit float, rounded by random bits, into the byte of the target that op_sel[3:2] names.
template <u8 (*narrow)(float, u32, bool)>
void pack_stochastic(Wave& wave, const Instruction& instruction) {
  alignas(64) u32 first[wave_lanes], second[wave_lanes], result[wave_lanes];
  const u32* a = fetch32(wave, instruction, 0, first);
  const u32* random = fetch32(wave, instruction, 1, second);
  const u32* old = wave.vector[vector_index(wave, instruction.targets[0], target_role)].lane;
  const unsigned start = 8 * (instruction.op_sel >> 2 & 3);
  const bool saturate = wave.mode & mode::f16_overflow;
  for (unsigned i = 0; i < wave_lanes; ++i)
    result[i] = (old[i] & ~(0xFFu << start)) |
                u32{narrow(std::bit_cast<float>(a[i]), random[i], saturate)} << start;
  store32(wave, instruction, result);
}

/// The low two bytes of what SDWA selects, as a pair of f32 in two registers.
template <float (*widen_byte)(u8)>
u64 unpacked_pair(u32 x) {
  return std::bit_cast<u32>(widen_byte(u8(x))) | u64{std::bit_cast<u32>(widen_byte(u8(x >> 8)))}
                                                     << 32;
}

void add_integers_and_floats(VectorTable table) {
  table.add<[](i32 x) { return float(x); }>("v_cvt_f32_i32");
  table.add<[](u32 x) { return float(x); }>("v_cvt_f32_u32");
  table.add<[](i32 x) { return double(x); }>("v_cvt_f64_i32");
  table.add<[](u32 x) { return double(x); }>("v_cvt_f64_u32");
  table.add<[](i16 x) { return Half{float(x)}; }>("v_cvt_f16_i16");
  table.add<[](u16 x) { return Half{float(x)}; }>("v_cvt_f16_u16");
  table.add<from_byte<0>>("v_cvt_f32_ubyte0");
  table.add<from_byte<1>>("v_cvt_f32_ubyte1");
  table.add<from_byte<2>>("v_cvt_f32_ubyte2");
  table.add<from_byte<3>>("v_cvt_f32_ubyte3");
  // Four bits with a sign, in sixteenths.
  table.add<[](i32 x) { return float(i32(u32(x) << 28) >> 28) / 16; }>("v_cvt_off_f32_i4");

  table.add<cut<i32, float>>("v_cvt_i32_f32");
  table.add<cut<u32, float>>("v_cvt_u32_f32");
  table.add<cut<i32, double>>("v_cvt_i32_f64");
  table.add<cut<u32, double>>("v_cvt_u32_f64");
  table.add<[](Half x) { return cut<i16>(x.value); }>("v_cvt_i16_f16");
  table.add<[](Half x) { return cut<u16>(x.value); }>("v_cvt_u16_f16");
  table.add<[](float x) { return cut<i32>(std::floor(x)); }>("v_cvt_flr_i32_f32");
  table.add<[](float x) { return cut<i32>(std::floor(double(x) + 0.5)); }>("v_cvt_rpi_i32_f32");
}

void add_floats_and_floats(VectorTable table) {
  table.add<[](float x) { return double(x); }>("v_cvt_f64_f32");
  table.add<[](double x) { return float(x); }>("v_cvt_f32_f64");
  table.add<[](float x) { return Half{x}; }>("v_cvt_f16_f32");
  table.add<[](Half x) { return is_nan(x) ? quiet(x.value) : x.value; }>("v_cvt_f32_f16");
  table.add<[](float a, float b) {
    return packed(f16_from_f32(a, Rounding::zero), f16_from_f32(b, Rounding::zero));
  }>("v_cvt_pkrtz_f16_f32");

  table.add<[](u32 x) { return f32_from_fp8(u8(x)); }>("v_cvt_f32_fp8");
  table.add<[](u32 x) { return f32_from_bf8(u8(x)); }>("v_cvt_f32_bf8");
  table.add<unpacked_pair<f32_from_fp8>>("v_cvt_pk_f32_fp8");
  table.add<unpacked_pair<f32_from_bf8>>("v_cvt_pk_f32_bf8");
  constexpr std::array<Type, 4> floats{Type::f32, Type::f32};
  constexpr std::array<Type, 4> float_and_bits{Type::f32, Type::b32};
  for (Operation* operation :
       {&table.add_special("v_cvt_pk_fp8_f32", pack_pair<fp8_from_f32>, floats),
        &table.add_special("v_cvt_pk_bf8_f32", pack_pair<bf8_from_f32>, floats),
        &table.add_special("v_cvt_sr_fp8_f32", pack_stochastic<fp8_from_f32_stochastic>,
                           float_and_bits),
        &table.add_special("v_cvt_sr_bf8_f32", pack_stochastic<bf8_from_f32_stochastic>,
                           float_and_bits)})
    operation->reads_target = true;
}

void add_packs(VectorTable table) {
  table.add<[](u32 a, u32 b) { return packed(std::min(a, 0xFFFFu), std::min(b, 0xFFFFu)); }>(
      "v_cvt_pk_u16_u32");
  table.add<[](i32 a, i32 b) {
    return packed(std::clamp(a, -32768, 32767) & 0xFFFF, u32(std::clamp(b, -32768, 32767)));
  }>("v_cvt_pk_i16_i32");
  table.add<[](u32 x) { return saturated_byte(i16(x)) | saturated_byte(i16(x >> 16)) << 8; }>(
      "v_sat_pk_u8_i16");
  table.add<[](u16 a, u16 b) { return packed(a, b); }>("v_pack_b32_f16").sources = {Type::f16,
                                                                                    Type::f16};
}

}  // namespace

void add_conversions(VectorTable table) {
  add_integers_and_floats(table);
  add_floats_and_floats(table);
  add_packs(table);
}

}  // namespace mi300x
