// Reductions over ranks as a check expects them: rank by rank, rounded to the element's type after
// each step.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "compute/stored_elements.h"
#include "ranks/collective/communicator.h"

namespace assay::selftest {

/// Combines two elements and rounds the result to T; narrow floats are combined as f32. For
/// Reduction::avg it returns the sum. Integers wrap, but i32 and i64 must stay in range.
template <typename T>
T reference_combine(T a, T b, Reduction reduction) {
  if constexpr (std::is_arithmetic_v<T>) {
    if (reduction == Reduction::prod) return static_cast<T>(a * b);
    if (reduction == Reduction::min) return std::min(a, b);
    if (reduction == Reduction::max) return std::max(a, b);
    return static_cast<T>(a + b);
  } else {
    return T::encode(reference_combine<float>(a.decode(), b.decode(), reduction));
  }
}

/// Returns element i of the reduction of `sends`, one array of T for each of n >= 1 ranks. Ranks
/// are combined in ascending order, with `backwards` in descending order. Averages follow NCCL:
/// floats are multiplied by 1/n, rounded to T, before they are summed; the sum of integers is
/// divided, and the quotient is rounded towards 0.
template <typename T>
T reference_reduced(const std::vector<const void*>& sends, std::size_t i, Reduction reduction,
                    bool backwards = false) {
  const auto n = static_cast<int>(sends.size());
  const auto at = [&](int place) {
    const T x = static_cast<const T*>(
        sends[static_cast<std::size_t>(backwards ? n - 1 - place : place)])[i];
    if (reduction != Reduction::avg || std::is_integral_v<T>) return x;
    return reference_combine<T>(x, stored_as<T>(1.0 / n), Reduction::prod);
  };
  T result = at(0);
  for (int place = 1; place < n; ++place) {
    result = reference_combine<T>(result, at(place), reduction);
  }
  if constexpr (std::is_integral_v<T>) {
    if (reduction == Reduction::avg) result = static_cast<T>(result / static_cast<T>(n));
  }
  return result;
}

}  // namespace assay::selftest
