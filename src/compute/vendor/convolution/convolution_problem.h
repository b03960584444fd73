// One convolution of a neural network, in two or three dimensions, independent of any library:
//   y[n,k,o] = sum over c, f of x[n, g C + c, o stride + f dilation - pad] w[k,c,f]
// or one of its two gradients. Here o and f are positions in the output and in the filter, g is the
// group of output channel k, and C the number of input channels of a group, over which c runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// Which of x, w and y is computed from the other two. In backward passes, x, w and y stand for
/// their gradients where the pass uses gradients.
enum class ConvolutionDirection {
  forward,  ///< y
  data,     ///< x, from w and y
  weights,  ///< w, from x and y
};
std::string_view name_of(ConvolutionDirection direction);

struct ConvolutionProblem {
  static constexpr int most_dimensions = 3;
  // [d,] h, w; the other elements are unused
  using Extents = std::array<std::int64_t, most_dimensions>;

  ConvolutionDirection direction = ConvolutionDirection::forward;
  DataType type = DataType::f32;  ///< type of x, w and y: f32, tf32, f16 or bf16; sums are f32
  bool channels_last = false;     ///< n h w c for x, w and y instead of n c h w
  int dimensions = 2;
  std::int64_t n = 1, c = 1, k = 1, groups = 1;  ///< images; channels of x and of y, of all groups
  Extents in = {}, filter = {}, stride = {1, 1, 1}, pad = {}, dilation = {1, 1, 1};

  /// Returns the output's extent; 0 if the filter does not fit into the padded input.
  std::int64_t out(int dimension) const;
  /// Shapes as n c [d] h w, whatever the layout: x, w (k, channels of a group, filter) and y.
  std::vector<std::int64_t> x_shape() const;
  std::vector<std::int64_t> w_shape() const;
  std::vector<std::int64_t> y_shape() const;
  /// Returns the distance in elements between neighbours in each dimension of such a shape.
  std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) const;

  std::int64_t x_elements() const;
  std::int64_t w_elements() const;
  std::int64_t y_elements() const;
  /// Multiplications and additions, including those with padding, as libraries count them.
  double flops() const;
  /// Returns the minimum bytes that must be read and written: x, w and y once each.
  double bytes() const;
};

/// Error: usage, naming the first inconsistency (an extent below 1, groups that do not divide the
/// channels, a filter larger than the padded input).
Status validate(const ConvolutionProblem& problem);

/// "forward bf16 nhwc n256 c64 k64 56x56 filter 3x3 stride 1x1 pad 1x1 dilation 1x1 groups 1"
std::string describe(const ConvolutionProblem& problem);

}  // namespace assay
