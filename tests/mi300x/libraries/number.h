// The values of matrix elements of all types.
#pragma once

#include <cmath>
#include <cstdint>

#include "compute/kernels/conversions.h"

namespace mi300x {

enum class Number { f64, f32, f16, bf16, e4m3, e5m2, e4m3_fnuz, e5m2_fnuz, i8, i32, unknown };

inline std::size_t bytes_of(Number type) {
  switch (type) {
    case Number::f64:
      return 8;
    case Number::f32:
    case Number::i32:
      return 4;
    case Number::f16:
    case Number::bf16:
      return 2;
    default:
      return 1;
  }
}

/// Calls `use` with a value of the element's own type.
template <typename Use>
auto with_element(Number type, Use&& use) {
  switch (type) {
    case Number::f64:
      return use(double{});
    case Number::f16:
      return use(F16{});
    case Number::bf16:
      return use(Bf16{});
    case Number::e4m3:
      return use(E4m3{});
    case Number::e5m2:
      return use(E5m2{});
    case Number::e4m3_fnuz:
      return use(E4m3Fnuz{});
    case Number::e5m2_fnuz:
      return use(E5m2Fnuz{});
    case Number::i8:
      return use(static_cast<signed char>(0));
    case Number::i32:
      return use(std::int32_t{});
    default:
      return use(float{});
  }
}

inline double load(const void* values, Number type, std::int64_t i) {
  return with_element(type, [&](auto element) -> double {
    return decode(static_cast<const decltype(element)*>(values)[i]);
  });
}

inline void store(void* values, Number type, std::int64_t i, double value) {
  with_element(type, [&](auto element) {
    using Element = decltype(element);
    auto& target = static_cast<Element*>(values)[i];
    if constexpr (std::is_arithmetic_v<Element>) {
      target = static_cast<Element>(value);
    } else {
      target = Element::encode(static_cast<float>(value));
    }
  });
}

}  // namespace mi300x
