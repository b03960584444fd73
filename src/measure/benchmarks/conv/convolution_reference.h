// Reference for convolutions, computed from the definition in double precision: single elements of
// a result, with which a device's results are compared.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compute/vendor/convolution/convolution_problem.h"

namespace assay {

/// The input x, the filters w and the output y, or gradients with respect to them, in the memory
/// order of the problem's layout. The result is y forward, x for the direction data and w for
/// weights; its vector may be empty.
struct ConvolutionTensors {
  std::vector<float> x, w, y;
};

/// The indices of an element: (image, channel, position) in x or y, (filter, channel within the
/// group, position) in w. A position has three numbers; in two dimensions the first is 0.
using ConvolutionIndex = std::array<std::int64_t, 5>;

/// The value of an element as a sum, and the figures that bound its error.
struct ConvolutionSum {
  double sum = 0;
  double squares = 0;      ///< sum of the squared products
  std::int64_t terms = 0;  ///< products, without those that padding or stride leaves out
};

class ConvolutionReference {
 public:
  explicit ConvolutionReference(const ConvolutionProblem& problem);

  /// The extents of the result, in the order of a ConvolutionIndex.
  const ConvolutionIndex& shape() const { return result().shape; }
  /// The offset in memory of an element of the result, in elements.
  std::int64_t offset(const ConvolutionIndex& place) const { return result().offset(place); }
  /// An upper bound of the number of products in an element of the result; stride or padding skip
  /// some.
  std::int64_t most_terms() const;
  /// Computes one element of the result from the other two tensors. `place` is within shape().
  ConvolutionSum at(const ConvolutionTensors& tensors, const ConvolutionIndex& place) const;

 private:
  struct Tensor {
    ConvolutionIndex shape, strides;
    std::int64_t offset(const ConvolutionIndex& place) const {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < place.size(); ++i) sum += place[i] * strides[i];
      return sum;
    }
  };
  Tensor tensor_of(const std::vector<std::int64_t>& shape) const;
  const Tensor& result() const;
  /// Sets `in` to the input position under filter position `f` for output `o`; false if it is in
  /// the padding.
  bool input_of(const ConvolutionIndex& o, const ConvolutionIndex& f, ConvolutionIndex& in) const;

  ConvolutionSum forward(const ConvolutionTensors& tensors, const ConvolutionIndex& place) const;
  ConvolutionSum data(const ConvolutionTensors& tensors, const ConvolutionIndex& place) const;
  ConvolutionSum weights(const ConvolutionTensors& tensors, const ConvolutionIndex& place) const;

  ConvolutionProblem problem_;
  Tensor x_, w_, y_;
  std::array<std::int64_t, 3> stride_, pad_, dilation_;
};

}  // namespace assay
