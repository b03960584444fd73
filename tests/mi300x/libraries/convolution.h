// A convolution in two or three dimensions, forward and both backward passes, in double, on host
// memory.
#pragma once

#include <vector>

#include "libraries/number.h"

namespace mi300x {

/// A tensor n c [d] h w, or k c [d] h w, with any strides.
struct ConvolutionTensor {
  Number type = Number::unknown;
  std::vector<int> extents, strides;

  std::size_t bytes() const;
};

struct Convolution {
  enum class Direction { forward, data, weights } direction = Direction::forward;
  ConvolutionTensor x, w, y;
  std::vector<int> pads, strides, dilations;
  int groups = 1;
  void* x_data = nullptr;
  void* w_data = nullptr;
  void* y_data = nullptr;

  /// Returns whether the shapes of the tensors match.
  bool fits() const;
  double operations() const;
  /// Checks every operand, then computes. Throws what the virtual runtime throws for invalid
  /// memory.
  void run() const;
  /// Returns model time at the chip's peak rates; never a measurement.
  double seconds() const;
};

}  // namespace mi300x
