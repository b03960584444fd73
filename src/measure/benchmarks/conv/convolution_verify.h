// Verification of the result of a convolution.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/benchmarks/conv/convolution_reference.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// The elements of the result to compare: all if the sums of all have at most `budget` products.
/// Otherwise corners and random elements of every group of channels, and random elements on borders
/// and elsewhere, as many as the budget allows, but at least 64 and at most 4096 in all; two of
/// each group are never left out.
std::vector<ConvolutionIndex> convolution_places(const ConvolutionProblem& problem,
                                                 std::int64_t budget, std::uint64_t seed);

/// Compares the result in `tensors` with the definition. Every element must be finite, which shows
/// that no poison is left, and those of convolution_places() must be right within the tolerance
/// that gemm_tolerance.h derives for a sum of products. `transforms`: whether the plan transforms
/// its operands, as Winograd does, which rounds a few times more. The verification's error is the
/// worst deviation relative to its tolerance.
Verification verify_convolution(const ConvolutionProblem& problem,
                                const ConvolutionTensors& tensors, bool transforms,
                                std::int64_t budget, std::uint64_t seed);

}  // namespace assay
