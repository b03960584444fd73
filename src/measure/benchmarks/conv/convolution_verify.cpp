#include "measure/benchmarks/conv/convolution_verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "measure/benchmarks/gemm/gemm_tolerance.h"

namespace assay {
namespace {

constexpr std::int64_t least_samples = 64, most_samples = 4096;

std::int64_t count_of(const ConvolutionIndex& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

/// Draws elements of a result, cycling through its groups of channels.
class Drawing {
 public:
  Drawing(const ConvolutionProblem& problem, const ConvolutionIndex& shape, std::uint64_t seed)
      : shape_(shape),
        random_(seed),
        groups_(problem.groups),
        // The index, 0 or 1, of the number in a place that counts the channels of all groups.
        channels_at_(problem.direction == ConvolutionDirection::weights ? 0 : 1) {}

  /// Draws an element in group `i` modulo the number of groups.
  ConvolutionIndex any(std::int64_t i) {
    ConvolutionIndex place;
    for (std::size_t at = 0; at < place.size(); ++at) place[at] = below(shape_[at]);
    const std::int64_t channels = shape_[channels_at_] / groups_;
    place[channels_at_] = i % groups_ * channels + below(channels);
    return place;
  }
  /// Draws an element of that group in a corner; the bits of `corner` select the corner.
  ConvolutionIndex corner(std::int64_t i, unsigned corner) {
    ConvolutionIndex place = any(i);
    for (unsigned at = 0; at < 3; ++at) {
      place[at + 2] = (corner >> at & 1) != 0 ? shape_[at + 2] - 1 : 0;
    }
    return place;
  }
  /// Draws an element of that group with one coordinate at a border.
  ConvolutionIndex border(std::int64_t i) {
    ConvolutionIndex place = any(i);
    const auto at = static_cast<std::size_t>(2 + below(3));
    place[at] = below(2) != 0 ? shape_[at] - 1 : 0;
    return place;
  }

 private:
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(random_.next() % static_cast<std::uint64_t>(count));
  }

  ConvolutionIndex shape_;
  Random random_;
  std::int64_t groups_;
  std::size_t channels_at_;
};

std::vector<ConvolutionIndex> all_places(const ConvolutionIndex& shape) {
  std::vector<ConvolutionIndex> places;
  ConvolutionIndex p;
  for (p[0] = 0; p[0] < shape[0]; ++p[0]) {
    for (p[1] = 0; p[1] < shape[1]; ++p[1]) {
      for (p[2] = 0; p[2] < shape[2]; ++p[2]) {
        for (p[3] = 0; p[3] < shape[3]; ++p[3]) {
          for (p[4] = 0; p[4] < shape[4]; ++p[4]) places.push_back(p);
        }
      }
    }
  }
  return places;
}

const std::vector<float>& result_of(const ConvolutionProblem& problem,
                                    const ConvolutionTensors& tensors) {
  switch (problem.direction) {
    case ConvolutionDirection::data:
      return tensors.x;
    case ConvolutionDirection::weights:
      return tensors.w;
    default:
      return tensors.y;
  }
}

Expectation expected(const ConvolutionProblem& problem, const ConvolutionSum& sum,
                     bool transforms) {
  const DataType stored = problem.type == DataType::tf32 ? DataType::f32 : problem.type;
  const GemmProblem product =
      make_gemm(1, 1, std::max<std::int64_t>(sum.terms, 1), problem.type, stored);
  Expectation expectation = expected_d(product, {.sum = sum.sum, .squares = sum.squares}, false);
  constexpr double roundings = 8;  // transforms of 4 x 4 tiles, with factors up to 8
  if (transforms) {
    expectation.tolerance +=
        roundings * unit_roundoff(problem.type) * (std::abs(sum.sum) + 2 * std::sqrt(sum.squares));
  }
  return expectation;
}

}  // namespace

std::vector<ConvolutionIndex> convolution_places(const ConvolutionProblem& problem,
                                                 std::int64_t budget, std::uint64_t seed) {
  const ConvolutionReference reference(problem);
  const ConvolutionIndex& shape = reference.shape();
  if (count_of(shape) <= budget / reference.most_terms()) return all_places(shape);
  Drawing drawing(problem, shape, seed);
  std::vector<ConvolutionIndex> places;
  const std::int64_t affordable =
      std::clamp(budget / reference.most_terms(), least_samples, most_samples);
  for (unsigned corner = 0; corner < 8; ++corner) places.push_back(drawing.corner(corner, corner));
  for (std::int64_t group = 0; group < problem.groups; ++group) {
    places.push_back(drawing.corner(group, static_cast<unsigned>(group)));
    places.push_back(drawing.any(group));
  }
  for (std::int64_t i = 0; static_cast<std::int64_t>(places.size()) < affordable; ++i) {
    places.push_back(i % 4 == 0 ? drawing.border(i / 4) : drawing.any(i));
  }
  return places;
}

Verification verify_convolution(const ConvolutionProblem& problem,
                                const ConvolutionTensors& tensors, bool transforms,
                                std::int64_t budget, std::uint64_t seed) {
  const ConvolutionReference reference(problem);
  const std::vector<float>& result = result_of(problem, tensors);
  const std::vector<ConvolutionIndex> places = convolution_places(problem, budget, seed);
  Verification verification;
  const bool all = static_cast<std::int64_t>(places.size()) == count_of(reference.shape());
  verification.method =
      all ? "every element against its definition in double"
          : fmt::format(
                "all written; {} elements of all groups and borders against their "
                "definition in double",
                places.size());
  verification.tolerance = 1;  // the error is relative to each element's tolerance
  const auto unwritten =
      std::find_if(result.begin(), result.end(), [](float value) { return !std::isfinite(value); });
  if (unwritten != result.end()) {
    verification.detail = fmt::format("element {} in memory was left unwritten or is no number",
                                      unwritten - result.begin());
    verification.error = INFINITY;
    return verification;
  }
  for (const ConvolutionIndex& place : places) {
    const Expectation right = expected(problem, reference.at(tensors, place), transforms);
    const double got = result[static_cast<std::size_t>(reference.offset(place))];
    const double off = std::abs(got - right.value);
    // If the filter covers only padding, result and tolerance are exactly 0.
    const double share = off == 0 ? 0 : off / right.tolerance;
    if (!(share <= verification.error)) verification.error = share;
    if (!(share <= 1) && verification.detail.empty()) {
      verification.detail = fmt::format("element [{}] is {}, should be {} +- {}",
                                        fmt::join(place, ","), got, right.value, right.tolerance);
    }
  }
  verification.passed = verification.detail.empty();
  return verification;
}

}  // namespace assay
