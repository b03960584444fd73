// Elements of every type as the host finds them in memory, and their values.
#pragma once

#include <cstdint>
#include <type_traits>

#include "compute/kernels/element_types.h"
#include "core/data_type.h"

namespace assay {

/// Returns use(element), where the element is 0 and has the C++ type that elements of `type` have
/// in memory.
template <typename Use>
auto with_element(DataType type, Use use) {
  switch (type) {
    case DataType::f64:
      return use(double{});
    case DataType::f16:
      return use(F16{});
    case DataType::bf16:
      return use(Bf16{});
    case DataType::e4m3:
      return use(E4m3{});
    case DataType::e5m2:
      return use(E5m2{});
    case DataType::e4m3_fnuz:
      return use(E4m3Fnuz{});
    case DataType::e5m2_fnuz:
      return use(E5m2Fnuz{});
    case DataType::i8:
      return use(std::int8_t{});
    case DataType::i32:
      return use(std::int32_t{});
    case DataType::u8:
      return use(std::uint8_t{});
    case DataType::u32:
      return use(std::uint32_t{});
    case DataType::i64:
      return use(std::int64_t{});
    case DataType::u64:
      return use(std::uint64_t{});
    case DataType::f32:
    case DataType::tf32:
      break;
  }
  return use(float{});
}

/// Returns a narrow float as a float, any other element unchanged.
template <typename T>
auto value_of(T stored) {
  if constexpr (std::is_class_v<T>) {
    return stored.decode();
  } else {
    return stored;
  }
}

/// Rounds `value` to an element: narrow floats to nearest, by way of f32; integers towards zero,
/// and `value` must be in their range.
template <typename T, typename Value>
T stored_as(Value value) {
  if constexpr (std::is_class_v<T>) {
    return T::encode(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// Returns the element at `from`, which need not be aligned; 64-bit integers may be rounded.
double load_element(DataType type, const void* from);
/// Stores `value` as stored_as() rounds it.
void store_element(DataType type, void* to, double value);

}  // namespace assay
