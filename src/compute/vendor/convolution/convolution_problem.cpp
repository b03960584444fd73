#include "compute/vendor/convolution/convolution_problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>
#include <span>

namespace assay {
namespace {

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

std::string_view name_of(ConvolutionDirection direction) {
  switch (direction) {
    case ConvolutionDirection::data:
      return "data";
    case ConvolutionDirection::weights:
      return "weights";
    default:
      return "forward";
  }
}

std::int64_t ConvolutionProblem::out(int dimension) const {
  const auto i = static_cast<std::size_t>(dimension);
  const std::int64_t covered = (filter[i] - 1) * dilation[i] + 1;
  const std::int64_t room = in[i] + 2 * pad[i] - covered;
  return room < 0 ? 0 : room / stride[i] + 1;
}

std::vector<std::int64_t> ConvolutionProblem::x_shape() const {
  std::vector<std::int64_t> shape = {n, c};
  shape.insert(shape.end(), in.begin(), in.begin() + dimensions);
  return shape;
}

std::vector<std::int64_t> ConvolutionProblem::w_shape() const {
  std::vector<std::int64_t> shape = {k, c / groups};
  shape.insert(shape.end(), filter.begin(), filter.begin() + dimensions);
  return shape;
}

std::vector<std::int64_t> ConvolutionProblem::y_shape() const {
  std::vector<std::int64_t> shape = {n, k};
  for (int i = 0; i < dimensions; ++i) shape.push_back(out(i));
  return shape;
}

std::vector<std::int64_t> ConvolutionProblem::strides_of(
    const std::vector<std::int64_t>& shape) const {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t distance = 1;
  if (channels_last) {
    strides[1] = 1;
    distance = shape[1];
  }
  for (std::size_t i = shape.size() - 1; i >= 2; --i) {
    strides[i] = distance;
    distance *= shape[i];
  }
  if (!channels_last) {
    strides[1] = distance;
    distance *= shape[1];
  }
  strides[0] = distance;
  return strides;
}

std::int64_t ConvolutionProblem::x_elements() const {
  return product(x_shape());
}
std::int64_t ConvolutionProblem::w_elements() const {
  return product(w_shape());
}
std::int64_t ConvolutionProblem::y_elements() const {
  return product(y_shape());
}

double ConvolutionProblem::flops() const {
  double products = static_cast<double>(y_elements()) * static_cast<double>(c / groups);
  for (int i = 0; i < dimensions; ++i) {
    products *= static_cast<double>(filter[static_cast<std::size_t>(i)]);
  }
  return 2 * products;
}

double ConvolutionProblem::bytes() const {
  return static_cast<double>(x_elements() + w_elements() + y_elements()) *
         static_cast<double>(size_of(type));
}

Status validate(const ConvolutionProblem& p) {
  const auto wrong = [](std::string message) {
    return Error{ErrorKind::usage, std::move(message)};
  };
  if (p.dimensions != 2 && p.dimensions != 3) return wrong("a convolution has 2 or 3 dimensions");
  if (p.n < 1 || p.c < 1 || p.k < 1 || p.groups < 1) {
    return wrong("n, c, k and groups must be 1 or more");
  }
  if (p.c % p.groups != 0 || p.k % p.groups != 0) {
    return wrong(
        fmt::format("groups={} must divide c={} and k={} without remainder", p.groups, p.c, p.k));
  }
  for (int i = 0; i < p.dimensions; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (p.in[at] < 1 || p.filter[at] < 1 || p.stride[at] < 1 || p.dilation[at] < 1 ||
        p.pad[at] < 0) {
      return wrong("extents of the input and the filter, strides and dilations must be 1 or more");
    }
    if (p.out(i) < 1) {
      return wrong(fmt::format(
          "a filter of {} with dilation {} does not fit into an input of {} with a padding of {}",
          p.filter[at], p.dilation[at], p.in[at], p.pad[at]));
    }
  }
  return {};
}

std::string describe(const ConvolutionProblem& p) {
  const auto extents = [&](const ConvolutionProblem::Extents& all) {
    return fmt::format("{}", fmt::join(all.begin(), all.begin() + p.dimensions, "x"));
  };
  return fmt::format("{} {} {} n{} c{} k{} {} filter {} stride {} pad {} dilation {} groups {}",
                     name_of(p.direction), name_of(p.type), p.channels_last ? "nhwc" : "nchw", p.n,
                     p.c, p.k, extents(p.in), extents(p.filter), extents(p.stride), extents(p.pad),
                     extents(p.dilation), p.groups);
}

}  // namespace assay
