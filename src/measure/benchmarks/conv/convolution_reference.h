// Convolutions from their definition, in double precision: single elements of a result, to hold a
// device's against.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compute/vendor/convolution/convolution_problem.h"

namespace assay {

/// x, w and y in the memory order of the problem's layout; the one that is computed may be empty.
struct ConvolutionTensors {
  std::vector<float> x, w, y;
};

/// An element of x or y (n, channel, position) or of w (k, channel within the group, position);
/// positions in two dimensions are the last two numbers.
using ConvolutionPlace = std::array<std::int64_t, 5>;

/// The sum that an element is, and what bounds its error.
struct ConvolutionSum {
  double sum = 0;
  double squares = 0;      ///< of its products
  std::int64_t terms = 0;  ///< products without padding
};

class ConvolutionReference {
 public:
  explicit ConvolutionReference(const ConvolutionProblem& problem);

  /// The extents of the result, as a place has them.
  const ConvolutionPlace& shape() const { return result().shape; }
  /// Where an element of the result lies in memory, in elements.
  std::int64_t offset(const ConvolutionPlace& place) const { return result().offset(place); }
  /// At most how many products an element of the result has.
  std::int64_t most_terms() const;
  ConvolutionSum at(const ConvolutionTensors& tensors, const ConvolutionPlace& place) const;

 private:
  struct Tensor {
    ConvolutionPlace shape, strides;
    std::int64_t offset(const ConvolutionPlace& place) const {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < place.size(); ++i) sum += place[i] * strides[i];
      return sum;
    }
  };
  Tensor tensor_of(const std::vector<std::int64_t>& shape) const;
  const Tensor& result() const;
  /// The input's position under position `f` of the filter at output `o`; false in the padding.
  bool input_of(const ConvolutionPlace& o, const ConvolutionPlace& f, ConvolutionPlace& in) const;

  ConvolutionSum forward(const ConvolutionTensors& tensors, const ConvolutionPlace& place) const;
  ConvolutionSum data(const ConvolutionTensors& tensors, const ConvolutionPlace& place) const;
  ConvolutionSum weights(const ConvolutionTensors& tensors, const ConvolutionPlace& place) const;

  ConvolutionProblem problem_;
  Tensor x_, w_, y_;
  std::array<std::int64_t, 3> stride_, pad_, dilation_;
};

}  // namespace assay
