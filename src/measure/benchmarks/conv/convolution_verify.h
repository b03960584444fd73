// Whether the result of a convolution is right.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/benchmarks/conv/convolution_reference.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// Elements of the result to compare: all, if their sums together have at most `budget` products.
/// Otherwise corners and borders of every group of channels, and elements drawn by the seed; as
/// many as the budget allows, but always two of each group and 64 in all.
std::vector<ConvolutionPlace> convolution_places(const ConvolutionProblem& problem,
                                                 std::int64_t budget, std::uint64_t seed);

/// Holds a result, as `tensors` has it with the operands, against the definition: every element
/// must be a number, so none was left as it was poisoned, and convolution_places() must be right
/// within the error that gemm_tolerance.h derives for a sum of products. `transforms`: as of the
/// plan; each transform rounds the operands' type a few times more.
Verification verify_convolution(const ConvolutionProblem& problem,
                                const ConvolutionTensors& tensors, bool transforms,
                                std::int64_t budget, std::uint64_t seed);

}  // namespace assay
