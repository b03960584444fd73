#include "ranks/collective/local_reduction.h"

#include <cstdint>
#include <type_traits>

#include "compute/kernels/element_types.h"

namespace assay {
namespace {

/// Narrow floats are computed in float, which holds the sum and the product of any two of them
/// precisely enough that one more rounding gives the correctly rounded result.
template <typename T>
auto value_of(T stored) {
  if constexpr (std::is_class_v<T>) {
    return stored.decode();
  } else {
    return stored;
  }
}

template <typename T, typename Value>
T stored_as(Value value) {
  if constexpr (std::is_class_v<T>) {
    return T::encode(value);
  } else {
    return static_cast<T>(value);
  }
}

/// Integers are added as unsigned, so that overflow wraps around instead of being undefined.
template <typename T>
using Wrapping = std::make_unsigned_t<T>;

struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    } else {
      return a + b;
    }
  }
};
struct Product {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};
struct Least {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <typename T, typename Combine>
void reduce_as(void* out, const void* a, const void* b, std::size_t count, Combine combine) {
  T* results = static_cast<T*>(out);
  const T* left = static_cast<const T*>(a);
  const T* right = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i) {
    results[i] = stored_as<T>(combine(value_of(left[i]), value_of(right[i])));
  }
}

/// Calls `use` with a null pointer to the in-memory type of the elements.
template <typename Use>
void with_element(DataType type, Use use) {
  switch (type) {
    case DataType::f64:
      return use(static_cast<double*>(nullptr));
    case DataType::f32:
    case DataType::tf32:
      return use(static_cast<float*>(nullptr));
    case DataType::f16:
      return use(static_cast<F16*>(nullptr));
    case DataType::bf16:
      return use(static_cast<Bf16*>(nullptr));
    case DataType::e4m3:
      return use(static_cast<E4m3*>(nullptr));
    case DataType::e5m2:
      return use(static_cast<E5m2*>(nullptr));
    case DataType::e4m3_fnuz:
      return use(static_cast<E4m3Fnuz*>(nullptr));
    case DataType::e5m2_fnuz:
      return use(static_cast<E5m2Fnuz*>(nullptr));
    case DataType::i8:
      return use(static_cast<std::int8_t*>(nullptr));
    case DataType::i32:
      return use(static_cast<std::int32_t*>(nullptr));
    case DataType::u8:
      return use(static_cast<std::uint8_t*>(nullptr));
    case DataType::u32:
      return use(static_cast<std::uint32_t*>(nullptr));
    case DataType::i64:
      return use(static_cast<std::int64_t*>(nullptr));
    case DataType::u64:
      return use(static_cast<std::uint64_t*>(nullptr));
  }
}

}  // namespace

void reduce_elements(DataType type, Reduction reduction, void* out, const void* a, const void* b,
                     std::size_t count) {
  with_element(type, [&](auto* element) {
    using T = std::remove_pointer_t<decltype(element)>;
    switch (reduction) {
      case Reduction::sum:
      case Reduction::avg:
        return reduce_as<T>(out, a, b, count, Sum{});
      case Reduction::prod:
        return reduce_as<T>(out, a, b, count, Product{});
      case Reduction::min:
        return reduce_as<T>(out, a, b, count, Least{});
      case Reduction::max:
        return reduce_as<T>(out, a, b, count, Greatest{});
    }
  });
}

void divide_elements(DataType type, void* values, int divisor, std::size_t count) {
  with_element(type, [&](auto* element) {
    using T = std::remove_pointer_t<decltype(element)>;
    T* at = static_cast<T*>(values);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = value_of(at[i]);
      using Value = std::remove_const_t<decltype(value)>;
      at[i] = stored_as<T>(value / static_cast<Value>(divisor));
    }
  });
}

}  // namespace assay
