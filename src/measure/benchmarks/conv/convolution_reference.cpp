#include "measure/benchmarks/conv/convolution_reference.h"

#include <algorithm>

namespace assay {
namespace {

/// Extents in three dimensions; a two-dimensional convolution gets `first` as its first one.
std::array<std::int64_t, 3> deepened(const ConvolutionProblem& problem,
                                     const ConvolutionProblem::Extents& extents,
                                     std::int64_t first) {
  if (problem.dimensions == 3) return extents;
  return {first, extents[0], extents[1]};
}

/// Calls `body(place)` for every position within `shape`; positions are the numbers 2 to 4 of
/// `place`.
template <typename Body>
void for_each_position(const ConvolutionIndex& shape, ConvolutionIndex place, const Body& body) {
  for (place[2] = 0; place[2] < shape[2]; ++place[2]) {
    for (place[3] = 0; place[3] < shape[3]; ++place[3]) {
      for (place[4] = 0; place[4] < shape[4]; ++place[4]) body(place);
    }
  }
}

void add(ConvolutionSum& to, float left, float right) {
  const double product = static_cast<double>(left) * static_cast<double>(right);
  to.sum += product;
  to.squares += product * product;
  ++to.terms;
}

float at_offset(const std::vector<float>& values, std::int64_t offset) {
  return values[static_cast<std::size_t>(offset)];
}

}  // namespace

ConvolutionReference::ConvolutionReference(const ConvolutionProblem& problem)
    : problem_(problem),
      x_(tensor_of(problem.x_shape())),
      w_(tensor_of(problem.w_shape())),
      y_(tensor_of(problem.y_shape())),
      stride_(deepened(problem, problem.stride, 1)),
      pad_(deepened(problem, problem.pad, 0)),
      dilation_(deepened(problem, problem.dilation, 1)) {}

ConvolutionReference::Tensor ConvolutionReference::tensor_of(
    const std::vector<std::int64_t>& shape) const {
  std::vector<std::int64_t> extents = shape, strides = problem_.strides_of(shape);
  if (extents.size() == 4) {
    extents.insert(extents.begin() + 2, 1);
    strides.insert(strides.begin() + 2, 0);
  }
  Tensor tensor = {};
  std::copy(extents.begin(), extents.end(), tensor.shape.begin());
  std::copy(strides.begin(), strides.end(), tensor.strides.begin());
  return tensor;
}

const ConvolutionReference::Tensor& ConvolutionReference::result() const {
  switch (problem_.direction) {
    case ConvolutionDirection::data:
      return x_;
    case ConvolutionDirection::weights:
      return w_;
    default:
      return y_;
  }
}

std::int64_t ConvolutionReference::most_terms() const {
  const std::int64_t filter = w_.shape[2] * w_.shape[3] * w_.shape[4];
  switch (problem_.direction) {
    case ConvolutionDirection::data:
      return problem_.k / problem_.groups * filter;
    case ConvolutionDirection::weights:
      return problem_.n * y_.shape[2] * y_.shape[3] * y_.shape[4];
    default:
      return problem_.c / problem_.groups * filter;
  }
}

ConvolutionSum ConvolutionReference::at(const ConvolutionTensors& tensors,
                                        const ConvolutionIndex& place) const {
  switch (problem_.direction) {
    case ConvolutionDirection::data:
      return data(tensors, place);
    case ConvolutionDirection::weights:
      return weights(tensors, place);
    default:
      return forward(tensors, place);
  }
}

bool ConvolutionReference::input_of(const ConvolutionIndex& o, const ConvolutionIndex& f,
                                    ConvolutionIndex& in) const {
  for (std::size_t i = 0; i < 3; ++i) {
    in[i + 2] = o[i + 2] * stride_[i] + f[i + 2] * dilation_[i] - pad_[i];
    if (in[i + 2] < 0 || in[i + 2] >= x_.shape[i + 2]) return false;
  }
  return true;
}

ConvolutionSum ConvolutionReference::forward(const ConvolutionTensors& tensors,
                                             const ConvolutionIndex& place) const {
  const std::int64_t channels = w_.shape[1];
  const std::int64_t group = place[1] / (problem_.k / problem_.groups);
  ConvolutionSum sum;
  for (std::int64_t c = 0; c < channels; ++c) {
    ConvolutionIndex in = {place[0], group * channels + c};
    for_each_position(w_.shape, {place[1], c}, [&](const ConvolutionIndex& f) {
      if (!input_of(place, f, in)) return;
      add(sum, at_offset(tensors.x, x_.offset(in)), at_offset(tensors.w, w_.offset(f)));
    });
  }
  return sum;
}

ConvolutionSum ConvolutionReference::data(const ConvolutionTensors& tensors,
                                          const ConvolutionIndex& place) const {
  const std::int64_t channels = w_.shape[1], filters = problem_.k / problem_.groups;
  const std::int64_t group = place[1] / channels;
  ConvolutionSum sum;
  for (std::int64_t k = group * filters; k < (group + 1) * filters; ++k) {
    for_each_position(w_.shape, {k, place[1] % channels}, [&](const ConvolutionIndex& f) {
      ConvolutionIndex out = {place[0], k};
      for (std::size_t i = 0; i < 3; ++i) {
        const std::int64_t scaled = place[i + 2] + pad_[i] - f[i + 2] * dilation_[i];
        out[i + 2] = scaled / stride_[i];
        if (scaled < 0 || scaled % stride_[i] != 0 || out[i + 2] >= y_.shape[i + 2]) return;
      }
      add(sum, at_offset(tensors.y, y_.offset(out)), at_offset(tensors.w, w_.offset(f)));
    });
  }
  return sum;
}

ConvolutionSum ConvolutionReference::weights(const ConvolutionTensors& tensors,
                                             const ConvolutionIndex& place) const {
  const std::int64_t group = place[0] / (problem_.k / problem_.groups);
  ConvolutionSum sum;
  for (std::int64_t n = 0; n < problem_.n; ++n) {
    ConvolutionIndex in = {n, group * w_.shape[1] + place[1]};
    for_each_position(y_.shape, {n, place[0]}, [&](const ConvolutionIndex& out) {
      if (!input_of(out, place, in)) return;
      add(sum, at_offset(tensors.x, x_.offset(in)), at_offset(tensors.y, y_.offset(out)));
    });
  }
  return sum;
}

}  // namespace assay
