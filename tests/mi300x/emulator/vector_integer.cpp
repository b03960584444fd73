// Integer arithmetic and logic, lane by lane.
#include "emulator/vector_operation.h"

namespace mi300x {

namespace {

i32 signed24(u32 x) {
  return i32(x << 8) >> 8;
}
u32 unsigned24(u32 x) {
  return x & 0xFFFFFF;
}
u32 first_set_from_top(u32 x) {
  return x ? u32(std::countl_zero(x)) : ~u32{0};
}
u32 reversed(u32 x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4;
  return __builtin_bswap32(x);
}
template <class T>
T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
/// Returns a field of `width` bits from `start` on; the code avoids shifts by 32.
u32 field(u32 x, u32 start, u32 width) {
  start &= 31;
  width &= 31;
  return width ? x >> start & ((u32{1} << width) - 1) : 0;
}
i32 signed_field(i32 x, u32 start, u32 width) {
  start &= 31;
  width &= 31;
  if (width == 0) return 0;
  if (start + width >= 32) return x >> start;
  return i32(u32(x) << (32 - start - width)) >> (32 - width);
}

WithMask<Words> sum_of(Words a, Words b) {
  const u32 low = a.low + b.low, carry = low < a.low;
  const u32 part = a.high + b.high, high = part + carry;
  return {{low, high}, u32{part < a.high} | u32{high < part}};
}
/// `amount` is 0 to 63. Bits move between the words by two shifts, because a shift by 32 is
/// undefined.
Words shifted_left(Words x, u32 amount) {
  const u32 in_word = amount & 31, crossing = (x.low >> 1) >> (31 - in_word);
  const u32 low = x.low << in_word, high = x.high << in_word | crossing;
  return amount < 32 ? Words{low, high} : Words{0, low};
}
Words shifted_right(Words x, u32 amount) {
  const u32 in_word = amount & 31, crossing = (x.high << 1) << (31 - in_word);
  const u32 high = x.high >> in_word, low = x.low >> in_word | crossing;
  return amount < 32 ? Words{low, high} : Words{high, 0};
}

void add_sums(VectorTable table) {
  table.add_saturating<[](u32 a, u32 b) { return a + b; }, [](u32 a, u32 b) { return i64{a} + b; }>(
      "v_add_u32");
  table.add_saturating<[](u32 a, u32 b) { return a - b; }, [](u32 a, u32 b) { return i64{a} - b; }>(
      "v_sub_u32");
  table.add_saturating<[](u32 a, u32 b) { return b - a; }, [](u32 a, u32 b) { return i64{b} - a; }>(
      "v_subrev_u32");
  table.add_saturating<[](i32 a, i32 b) { return i32(u32(a) + u32(b)); },
                       [](i32 a, i32 b) { return i64{a} + b; }>("v_add_i32");
  table.add_saturating<[](i32 a, i32 b) { return i32(u32(a) - u32(b)); },
                       [](i32 a, i32 b) { return i64{a} - b; }>("v_sub_i32");
  table.add_saturating<[](u16 a, u16 b) { return u16(a + b); },
                       [](u16 a, u16 b) { return i64{a} + b; }>("v_add_u16");
  table.add_saturating<[](u16 a, u16 b) { return u16(a - b); },
                       [](u16 a, u16 b) { return i64{a} - b; }>("v_sub_u16");
  table.add_saturating<[](u16 a, u16 b) { return u16(b - a); },
                       [](u16 a, u16 b) { return i64{b} - a; }>("v_subrev_u16");
  constexpr Options half{.keeps_half = true};
  table.add_saturating<[](i16 a, i16 b) { return i16(a + b); },
                       [](i16 a, i16 b) { return i64{a} + b; }, half>("v_add_i16");
  table.add_saturating<[](i16 a, i16 b) { return i16(a - b); },
                       [](i16 a, i16 b) { return i64{a} - b; }, half>("v_sub_i16");

  using Carry = WithMask<u32>;
  table.add<[](u32 a, u32 b) { return Carry{a + b, a + b < a}; }>("v_add_co_u32");
  table.add<[](u32 a, u32 b) { return Carry{a - b, a < b}; }>("v_sub_co_u32");
  table.add<[](u32 a, u32 b) { return Carry{b - a, b < a}; }>("v_subrev_co_u32");
  // A carry in can cause a carry out by itself, if the sum equals or exceeds `a` again.
  table.add<[](u32 a, u32 b, bool carry) {
    const u32 sum = a + b + carry;
    return Carry{sum, sum < a || (carry && sum == a)};
  }>("v_addc_co_u32");
  table.add<[](u32 a, u32 b, bool borrow) {
    return Carry{a - b - borrow, a < b || (borrow && a == b)};
  }>("v_subb_co_u32");
  table.add<[](u32 a, u32 b, bool borrow) {
    return Carry{b - a - borrow, b < a || (borrow && a == b)};
  }>("v_subbrev_co_u32");

  table.add<[](u32 a, u32 b, u32 c) { return a + b + c; }>("v_add3_u32");
  table.add<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>("v_lshl_add_u32");
  table.add<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>("v_add_lshl_u32");
  table.add<[](Words a, u32 b, Words c) { return sum_of(shifted_left(a, b & 7), c).value; }>(
      "v_lshl_add_u64");
  table.add<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>("v_xad_u32");
}

void add_products(VectorTable table) {
  table.add<[](u32 a, u32 b) { return a * b; }>("v_mul_lo_u32");
  table.add<[](u32 a, u32 b) { return a * b; }>("v_mul_lo_i32");
  table.add<[](u32 a, u32 b) { return u32(u64{a} * b >> 32); }>("v_mul_hi_u32");
  table.add<[](i32 a, i32 b) { return u32(u64(i64{a} * b) >> 32); }>("v_mul_hi_i32");
  table.add<[](u16 a, u16 b) { return u16(u32{a} * b); }>("v_mul_lo_u16");
  table.add<[](u32 a, u32 b) { return unsigned24(a) * unsigned24(b); }>("v_mul_u32_u24");
  table.add<[](u32 a, u32 b) { return u32(u64{unsigned24(a)} * unsigned24(b) >> 32); }>(
      "v_mul_hi_u32_u24");
  table.add<[](u32 a, u32 b) { return u32(signed24(a)) * u32(signed24(b)); }>("v_mul_i32_i24");
  table.add<[](u32 a, u32 b) { return u32(u64(i64{signed24(a)} * signed24(b)) >> 32); }>(
      "v_mul_hi_i32_i24");

  table.add_saturating<[](u32 a, u32 b, u32 c) { return unsigned24(a) * unsigned24(b) + c; },
                       [](u32 a, u32 b, u32 c) { return i64{unsigned24(a)} * unsigned24(b) + c; }>(
      "v_mad_u32_u24");
  table.add_saturating<[](u32 a, u32 b, i32 c) {
    return i32(u32(signed24(a)) * u32(signed24(b)) + u32(c));
  },
                       [](u32 a, u32 b, i32 c) { return i64{signed24(a)} * signed24(b) + c; }>(
      "v_mad_i32_i24");
  table.add_saturating<[](u16 a, u16 b, u32 c) { return u32{a} * b + c; },
                       [](u16 a, u16 b, u32 c) { return i64{a} * b + c; }>("v_mad_u32_u16");
  table.add_saturating<[](i16 a, i16 b, i32 c) { return i32(u32(i32{a} * b) + u32(c)); },
                       [](i16 a, i16 b, i32 c) { return i64{a} * b + c; }>("v_mad_i32_i16");
  constexpr Options half{.keeps_half = true};
  table.add_saturating<[](u16 a, u16 b, u16 c) { return u16(u32{a} * b + c); },
                       [](u16 a, u16 b, u16 c) { return i64{a} * b + c; }, half>("v_mad_u16");
  table.add_saturating<[](i16 a, i16 b, i16 c) { return i16(i32{a} * b + c); },
                       [](i16 a, i16 b, i16 c) { return i64{a} * b + c; }, half>("v_mad_i16");
  table.add_saturating<[](u16 a, u16 b, u16 c) { return u16(u32{a} * b + c); },
                       [](u16 a, u16 b, u16 c) { return i64{a} * b + c; }>("v_mad_legacy_u16");
  table.add_saturating<[](i16 a, i16 b, i16 c) { return i16(i32{a} * b + c); },
                       [](i16 a, i16 b, i16 c) { return i64{a} * b + c; }>("v_mad_legacy_i16");

  table.add<[](u32 a, u32 b, Words c) {
    return sum_of({a * b, u32((u64{a} * b) >> 32)}, c);
  }>("v_mad_u64_u32");
  // The carry out is bit 64 of the sum of both sign-extended operands.
  table.add<[](i32 a, i32 b, i64 c) {
    const u64 product = u64(i64{a} * b), sum = product + u64(c);
    const bool carry = sum < product;
    return WithMask<i64>{i64(sum), u32(carry ^ (i64(product) < 0) ^ (c < 0))};
  }>("v_mad_i64_i32");
}

void add_logic(VectorTable table) {
  table.add<[](u32 a) { return ~a; }>("v_not_b32");
  table.add<[](u32 a, u32 b) { return a & b; }>("v_and_b32");
  table.add<[](u32 a, u32 b) { return a | b; }>("v_or_b32");
  table.add<[](u32 a, u32 b) { return a ^ b; }>("v_xor_b32");
  table.add<[](u32 a, u32 b) { return ~(a ^ b); }>("v_xnor_b32");
  table.add<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>("v_and_or_b32");
  table.add<[](u32 a, u32 b, u32 c) { return a | b | c; }>("v_or3_b32");
  table.add<[](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }>("v_lshl_or_b32");

  table.add<[](u32 a, u32 b) { return b << (a & 31); }>("v_lshlrev_b32");
  table.add<[](u32 a, u32 b) { return (b >> (a & 31)); }>("v_lshrrev_b32");
  table.add<[](u32 a, i32 b) { return (b >> (a & 31)); }>("v_ashrrev_i32");
  table.add<[](u16 a, u16 b) { return u16(b << (a & 15)); }>("v_lshlrev_b16");
  table.add<[](u16 a, u16 b) { return u16(b >> (a & 15)); }>("v_lshrrev_b16");
  table.add<[](u16 a, i16 b) { return i16(b >> (a & 15)); }>("v_ashrrev_i16");
  table.add<[](u32 a, Words b) { return shifted_left(b, a & 63); }>("v_lshlrev_b64");
  table.add<[](u32 a, Words b) { return shifted_right(b, a & 63); }>("v_lshrrev_b64");
  table.add<[](u32 a, i64 b) { return (b >> (a & 63)); }>("v_ashrrev_i64");

  table.add<field>("v_bfe_u32");
  table.add<signed_field>("v_bfe_i32");
  table.add<[](u32 mask, u32 a, u32 b) { return (mask & a) | (~mask & b); }>("v_bfi_b32");
  table.add<[](u32 a, u32 b) { return ((u32{1} << (a & 31)) - 1) << (b & 31); }>("v_bfm_b32");
  table.add<reversed>("v_bfrev_b32");
  table.add<[](u32 a, u32 b) { return u32(std::popcount(a)) + b; }>("v_bcnt_u32_b32");
  table.add<first_set_from_top>("v_ffbh_u32");
  table.add<[](u32 a) { return a ? u32(std::countr_zero(a)) : ~u32{0}; }>("v_ffbl_b32");
  // This finds the first bit from the top that differs from the sign.
  table.add<[](i32 a) { return first_set_from_top(u32(a < 0 ? ~a : a)); }>("v_ffbh_i32");

  table.add<[](u32 a, u32 b, u32 c) { return u32((u64{a} << 32 | b) >> (c & 31)); }>(
      "v_alignbit_b32");
  table.add<[](u32 a, u32 b, u32 c) { return u32((u64{a} << 32 | b) >> (8 * (c & 3))); }>(
      "v_alignbyte_b32");
}

template <class T, Options options = Options{}>
void add_order3(VectorTable table, std::string_view least, std::string_view greatest,
                std::string_view middle) {
  table.add<[](T a, T b, T c) { return std::min(std::min(a, b), c); }, options>(least);
  table.add<[](T a, T b, T c) { return std::max(std::max(a, b), c); }, options>(greatest);
  table.add<[](T a, T b, T c) { return median(a, b, c); }, options>(middle);
}

void add_order(VectorTable table) {
  table.add<[](u32 a, u32 b) { return std::min(a, b); }>("v_min_u32");
  table.add<[](u32 a, u32 b) { return std::max(a, b); }>("v_max_u32");
  table.add<[](i32 a, i32 b) { return std::min(a, b); }>("v_min_i32");
  table.add<[](i32 a, i32 b) { return std::max(a, b); }>("v_max_i32");
  table.add<[](u16 a, u16 b) { return std::min(a, b); }>("v_min_u16");
  table.add<[](u16 a, u16 b) { return std::max(a, b); }>("v_max_u16");
  table.add<[](i16 a, i16 b) { return std::min(a, b); }>("v_min_i16");
  table.add<[](i16 a, i16 b) { return std::max(a, b); }>("v_max_i16");
  add_order3<u32>(table, "v_min3_u32", "v_max3_u32", "v_med3_u32");
  add_order3<i32>(table, "v_min3_i32", "v_max3_i32", "v_med3_i32");
  constexpr Options half{.keeps_half = true};
  add_order3<u16, half>(table, "v_min3_u16", "v_max3_u16", "v_med3_u16");
  add_order3<i16, half>(table, "v_min3_i16", "v_max3_i16", "v_med3_i16");
}

}  // namespace

void add_integers(VectorTable table) {
  add_sums(table);
  add_products(table);
  add_logic(table);
  add_order(table);
}

}  // namespace mi300x
