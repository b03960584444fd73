// The three steps around Newton's iterations of a division. v_div_scale moves operands whose
// quotient or intermediate steps would leave the normal range; v_div_fmas moves the quotient back;
// v_div_fixup handles special values.
#include "emulator/float_rules.h"

namespace mi300x {

namespace {

template <class T>
struct Division;
template <>
struct Division<float> {
  static constexpr int bias = 127, scale = 64, far = 96, tiny = 23, underflow = -150;
  static int exponent(float x) { return int(std::bit_cast<u32>(x) >> 23 & 0xFF); }
};
template <>
struct Division<double> {
  static constexpr int bias = 1023, scale = 128, far = 768, tiny = 53, underflow = -1075;
  static int exponent(double x) { return int(std::bit_cast<u64>(x) >> 52 & 0x7FF); }
};

template <class T>
bool is_denormal(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL;
}

/// `x` is the denominator or the numerator again, whichever is to be scaled. The bit tells
/// v_div_fmas that only one of them was scaled.
template <class T>
WithMask<T> scaled_for_division(T x, T denominator, T numerator) {
  using D = Division<T>;
  const T up = std::ldexp(x, D::scale);
  if (numerator == 0 || denominator == 0) return {std::numeric_limits<T>::quiet_NaN(), false};
  const int distance = D::exponent(numerator) - D::exponent(denominator);
  const bool is_denominator = x == denominator, is_numerator = x == numerator;
  if (distance >= D::far) return {is_denominator ? up : x, true};
  if (is_denormal(denominator)) return {up, false};
  const bool tiny_reciprocal = is_denormal(1 / denominator);
  const bool tiny_quotient = is_denormal(numerator / denominator);
  // If both are tiny, AMD's text scales the denominator up, to infinity. The other steps give a
  // correct quotient only if it is scaled down.
  const T down = std::ldexp(x, -D::scale);
  if (tiny_reciprocal && tiny_quotient) return {is_denominator ? down : x, true};
  if (tiny_reciprocal) return {down, false};
  if (tiny_quotient) return {is_numerator ? up : x, true};
  return {D::exponent(numerator) <= D::tiny ? up : x, false};
}

/// A quotient near overflow was computed too small, one near underflow too large.
template <class T>
T fused_and_scaled(T a, T b, T c, bool scaled) {
  using D = Division<T>;
  const T value = std::fma(a, b, c);
  if (!scaled) return value;
  return std::ldexp(value, D::exponent(c) > D::bias ? D::scale : -D::scale);
}

template <class T>
T fixed_quotient(T quotient, T denominator, T numerator) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const T sign = std::signbit(denominator) != std::signbit(numerator) ? T(-1) : T(1);
  if (is_nan(numerator)) return quiet(numerator);
  if (is_nan(denominator)) return quiet(denominator);
  const bool endless = std::isinf(numerator), endless_part = std::isinf(denominator);
  if ((denominator == 0 && numerator == 0) || (endless && endless_part))
    return -std::numeric_limits<T>::quiet_NaN();
  if (denominator == 0 || endless) return sign * infinity;
  if (endless_part || numerator == 0) return sign * 0;
  // Operands are finite; if steps exceeded infinity, the quotient overflows.
  return std::copysign(is_nan(quotient) ? infinity : quotient, sign);
}

template <class T>
T fixed_with_underflow(T quotient, T denominator, T numerator) {
  using D = Division<T>;
  const T fixed = fixed_quotient(quotient, denominator, numerator);
  const bool plain = std::isfinite(denominator) && std::isfinite(numerator) && denominator != 0;
  const bool lost = D::exponent(numerator) - D::exponent(denominator) < D::underflow;
  return plain && lost ? std::copysign(T(0), fixed) : fixed;
}

}  // namespace

void add_divisions(VectorTable table) {
  table.add<scaled_for_division<float>>("v_div_scale_f32");
  table.add<scaled_for_division<double>>("v_div_scale_f64");
  constexpr Options by_vcc{.takes_vcc = true};
  table.add<fused_and_scaled<float>, by_vcc>("v_div_fmas_f32");
  table.add<fused_and_scaled<double>, by_vcc>("v_div_fmas_f64");
  constexpr Options exact{.exact = true};
  table.add<fixed_with_underflow<float>, exact>("v_div_fixup_f32");
  table.add<fixed_with_underflow<double>, exact>("v_div_fixup_f64");
  constexpr auto half = [](Half quotient, Half denominator, Half numerator) {
    return Half{fixed_quotient(quotient.value, denominator.value, numerator.value)};
  };
  table.add<half, Options{.keeps_half = true, .exact = true}>("v_div_fixup_f16");
  table.add<half, exact>("v_div_fixup_legacy_f16");
}

}  // namespace mi300x
