// Float arithmetic of f32, f64 and f16: sums, products, order, rounding to integers and exponents.
#include "emulator/float_rules.h"

namespace mi300x {

namespace {

template <class T>
T sum(T a, T b) {
  return a + b;
}
template <class T>
T difference(T a, T b) {
  return a - b;
}
template <class T>
T reversed_difference(T a, T b) {
  return b - a;
}
template <class T>
T product(T a, T b) {
  return a * b;
}
template <class T>
T product_then_sum(T a, T b, T c) {
  return a * b + c;
}

/// Follows "DX9 rules": 0 times anything is 0.
float legacy_product(float a, float b) {
  return a == 0 || b == 0 ? 0.0f : a * b;
}

template <class T>
T floored(T x) {
  return std::floor(x);
}
template <class T>
T ceiled(T x) {
  return std::ceil(x);
}
template <class T>
T truncated(T x) {
  return std::trunc(x);
}
template <class T>
T to_nearest_even(T x) {
  return std::nearbyint(x);
}
/// x - floor(x) of a tiny negative x would round to 1, which is not a fraction; `below_one`
/// replaces it.
template <class T, T below_one>
T fraction(T x) {
  const T part = x - std::floor(x);
  return part > below_one ? below_one : part;
}

bool has_exponent(double x) {
  return x != 0 && std::isfinite(x);
}
template <class T>
T mantissa(T x) {
  int exponent;
  return has_exponent(x) ? std::frexp(x, &exponent) : x;
}
i32 exponent_of(double x) {
  int exponent = 0;
  if (has_exponent(x)) std::frexp(x, &exponent);
  return exponent;
}
/// Scales in double, which holds every intermediate value, and rounds once.
float scaled(float x, i32 exponent) {
  return float(std::ldexp(double(x), std::clamp(exponent, -400, 400)));
}

void add_sums_of_floats(VectorTable table) {
  table.add<sum<float>>("v_add_f32");
  table.add<sum<double>>("v_add_f64");
  table.add<half2<sum<float>>>("v_add_f16");
  table.add<difference<float>>("v_sub_f32");
  table.add<half2<difference<float>>>("v_sub_f16");
  table.add<reversed_difference<float>>("v_subrev_f32");
  table.add<half2<reversed_difference<float>>>("v_subrev_f16");
  table.add<product<float>>("v_mul_f32");
  table.add<product<double>>("v_mul_f64");
  table.add<half2<product<float>>>("v_mul_f16");
  table.add<legacy_product>("v_mul_legacy_f32");
}

/// Sums of a product. Operations named fma round once. mad and mac also round the product, and
/// treat f32 denormals as 0 in every mode. (The mad family of f16 is missing, because its treatment
/// of denormals is not documented.)
void add_sums_of_products(VectorTable table) {
  constexpr Options onto_target{.accumulates = true};
  table.add<fused<float>>("v_fma_f32");
  table.add<fused<double>>("v_fma_f64");
  constexpr auto fused_half = [](Half a, Half b, Half c) { return fused(a, b, c); };
  table.add<fused_half, Options{.keeps_half = true}>("v_fma_f16");
  table.add<fused_half>("v_fma_legacy_f16");
  table.add<fused<float>, onto_target>("v_fmac_f32");
  table.add<fused<double>, onto_target>("v_fmac_f64");
  table.add<[](float a, float k, float c) { return std::fma(a, k, c); }>("v_fmamk_f32");
  table.add<[](float a, float b, float k) { return std::fma(a, b, k); }>("v_fmaak_f32");

  constexpr Options flushing{.flushes = true};
  table.add<product_then_sum<float>, flushing>("v_mad_f32");
  table.add<product_then_sum<float>, flushing>("v_madmk_f32");
  table.add<product_then_sum<float>, flushing>("v_madak_f32");
  table.add<[](float a, float b, float c) { return legacy_product(a, b) + c; }, flushing>(
      "v_mad_legacy_f32");
  table.add<product_then_sum<float>, Options{.accumulates = true, .flushes = true}>("v_mac_f32");
}

void add_order_of_floats(VectorTable table) {
  constexpr Options ieee{.needs_ieee = true};
  constexpr Options ieee_half{.keeps_half = true, .needs_ieee = true};
  table.add<least<float>, ieee>("v_min_f32");
  table.add<least<double>, ieee>("v_min_f64");
  table.add<half2<least<float>>, ieee>("v_min_f16");
  table.add<greatest<float>, ieee>("v_max_f32");
  table.add<greatest<double>, ieee>("v_max_f64");
  table.add<half2<greatest<float>>, ieee>("v_max_f16");
  table.add<least3<float>, ieee>("v_min3_f32");
  table.add<greatest3<float>, ieee>("v_max3_f32");
  table.add<median3<float>, ieee>("v_med3_f32");
  table.add<half3<least3<float>>, ieee_half>("v_min3_f16");
  table.add<half3<greatest3<float>>, ieee_half>("v_max3_f16");
  table.add<half3<median3<float>>, ieee_half>("v_med3_f16");
}

void add_parts_of_floats(VectorTable table) {
  table.add<floored<float>>("v_floor_f32");
  table.add<floored<double>>("v_floor_f64");
  table.add<half1<floored<float>>>("v_floor_f16");
  table.add<ceiled<float>>("v_ceil_f32");
  table.add<ceiled<double>>("v_ceil_f64");
  table.add<half1<ceiled<float>>>("v_ceil_f16");
  table.add<truncated<float>>("v_trunc_f32");
  table.add<truncated<double>>("v_trunc_f64");
  table.add<half1<truncated<float>>>("v_trunc_f16");
  table.add<to_nearest_even<float>>("v_rndne_f32");
  table.add<to_nearest_even<double>>("v_rndne_f64");
  table.add<half1<to_nearest_even<float>>>("v_rndne_f16");
  table.add<fraction<float, 0x1.FFFFFEp-1f>>("v_fract_f32");
  table.add<fraction<double, 0x1.FFFFFFFFFFFFFp-1>>("v_fract_f64");
  table.add<half1<fraction<float, 0x1.FFCp-1f>>>("v_fract_f16");

  table.add<mantissa<float>>("v_frexp_mant_f32");
  table.add<mantissa<double>>("v_frexp_mant_f64");
  table.add<half1<mantissa<float>>>("v_frexp_mant_f16");
  table.add<[](float x) { return exponent_of(x); }>("v_frexp_exp_i32_f32");
  table.add<[](double x) { return exponent_of(x); }>("v_frexp_exp_i32_f64");
  table.add<[](Half x) { return i16(exponent_of(x.value)); }>("v_frexp_exp_i16_f16");
  table.add<scaled>("v_ldexp_f32");
  table.add<[](double x, i32 exponent) { return std::ldexp(x, exponent); }>("v_ldexp_f64");
  table.add<[](Half x, i16 exponent) { return Half{scaled(x.value, exponent)}; }>("v_ldexp_f16");
}

}  // namespace

void add_floats(VectorTable table) {
  add_sums_of_floats(table);
  add_sums_of_products(table);
  add_order_of_floats(table);
  add_parts_of_floats(table);
}

}  // namespace mi300x
