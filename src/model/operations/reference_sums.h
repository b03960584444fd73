// The two sums of which references in double precision consist. A reference computes on the host
// before every training, so they are written for a compiler that vectorizes.
#pragma once

#include <cstddef>

namespace assay {

/// The sum of a[i] * b[i].
template <typename T>
double dot(const T* a, const T* b, std::size_t count) {
  constexpr std::size_t width = 8;  // sums of their own: a compiler keeps the order of one
  double lanes[width] = {};
  std::size_t i = 0;
  for (; i + width <= count; i += width) {
    for (std::size_t l = 0; l < width; ++l) {
      lanes[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
    }
  }
  double total = 0;
  for (; i < count; ++i) total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  for (const double lane : lanes) total += lane;
  return total;
}

/// sum[i] += factor * x[i]
template <typename T>
void add_scaled(double* sum, double factor, const T* x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += factor * static_cast<double>(x[i]);
}

}  // namespace assay
