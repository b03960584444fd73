// Proves a product that lies on the device: every element was written, nothing beside it was, and
// thousands of elements, corners and edges included, agree with sums taken in double.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compute/blas/gemm_problem.h"
#include "measure/benchmarks/benchmark.h"
#include "measure/benchmarks/gemm_operands.h"

namespace assay {

/// Batch, row and column of the elements to recompute: the corners of the first and last matrix,
/// 128 elements of the last row and column, and 4096 anywhere (all of them, in a small product).
std::vector<std::array<std::uint64_t, 3>> gemm_sample_places(const GemmProblem& problem,
                                                             std::uint64_t seed);

/// Checks what the product wrote into `set`, which was poisoned before it ran. `largest` is
/// largest_input() of the cell. The error is the worst deviation as a share of its tolerance
/// (gemm_check.h), or of the value itself where the result must be exact.
Result<Verification> verify_gemm(Stream& stream, GemmMatrices& matrices, const GemmProblem& problem,
                                 const OperandSet& set, double largest, std::uint64_t seed);

}  // namespace assay
