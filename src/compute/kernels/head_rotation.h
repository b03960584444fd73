// RMS norm and rotation of the vectors of heads (rotary positions): element i of a vector's lower
// half and element i of its upper half are turned together.
#pragma once

#include "fast_math.h"
#include "rows.h"

namespace {

/// One element of the lower half of a head's vector and its partner in the upper half.
struct Rotated {
  float low, high;
};
DEVICE Rotated rotate(float low, float high, float cosine, float sine) {
  return {low * cosine - high * sine, high * cosine + low * sine};
}

/// Returns 1 / the root mean square of a head's vector; a wave calls it together.
template <typename T>
DEVICE float inverse_root_mean_square(const T* head, u64 width, float epsilon) {
  float squares = 0;
  for (u64 i = lane_index(); i < width; i += wave_width) {
    const float x = decode(head[i]);
    squares += x * x;
  }
  return fast_rsqrt(wave_reduce(squares, Sum{}) / static_cast<float>(width) + epsilon);
}

/// Norms a head's vector, unless its weights `norm` [width] are null, and rotates it: calls
/// put(i, rotated) for each i of its lower half. `width` is even. The normed elements are rounded
/// to T before the weights multiply them. `cosines` points to the cosines of the head's position,
/// [width / 2], followed by the sines. A wave calls it together.
template <typename T, typename Put>
DEVICE void norm_and_rotate_head(const T* head, const T* norm, const float* cosines, u64 width,
                                 float epsilon, Put put) {
  const u64 half = width / 2;
  const float inverse = norm == nullptr ? 1.0f : inverse_root_mean_square(head, width, epsilon);
  const auto read = [&](u64 i) {
    const float x = decode(head[i]);
    return norm == nullptr ? x : decode(encode<T>(x * inverse)) * decode(norm[i]);
  };
  for (u64 i = lane_index(); i < half; i += wave_width) {
    put(i, rotate(read(i), read(i + half), cosines[i], cosines[half + i]));
  }
}

}  // namespace
