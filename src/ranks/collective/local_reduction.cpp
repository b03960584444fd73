#include "ranks/collective/local_reduction.h"

#include <cstdint>
#include <type_traits>

#include "compute/stored_elements.h"

namespace assay {
namespace {

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

/// Narrow floats are computed in float, which holds the sum and the product of any two of them
/// precisely enough that one more rounding gives the correctly rounded result.
template <typename T, typename Combine>
void reduce_as(void* out, const void* a, const void* b, std::size_t count, Combine combine) {
  T* results = static_cast<T*>(out);
  const T* left = static_cast<const T*>(a);
  const T* right = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i) {
    results[i] = stored_as<T>(combine(value_of(left[i]), value_of(right[i])));
  }
}

}  // namespace

void reduce_elements(DataType type, Reduction reduction, void* out, const void* a, const void* b,
                     std::size_t count) {
  with_element(type, [&]<typename T>(T) {
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
  with_element(type, [&]<typename T>(T) {
    T* at = static_cast<T*>(values);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = value_of(at[i]);
      using Value = std::remove_const_t<decltype(value)>;
      // A narrow integer cannot hold every divisor.
      using Wide = std::common_type_t<Value, std::int64_t>;
      at[i] =
          stored_as<T>(static_cast<Value>(static_cast<Wide>(value) / static_cast<Wide>(divisor)));
    }
  });
}

}  // namespace assay
