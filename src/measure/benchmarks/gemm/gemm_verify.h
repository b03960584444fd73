// Verifies a GEMM on the device: every element of the output was written and the padding between
// rows was not, and thousands of elements, including corners and edges, agree with sums in double.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compute/vendor/blas/gemm_problem.h"
#include "measure/benchmarks/gemm/gemm_operands.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// Index in the batch, row and column of the elements to recompute: the corners of the first and
/// last matrix, 128 elements of last rows, 128 of last columns, and 4096 random ones. If a GEMM has
/// at most 4096 elements, all are recomputed.
std::vector<std::array<std::uint64_t, 3>> gemm_sample_places(const GemmProblem& problem,
                                                             std::uint64_t seed);

/// Checks what the GEMM wrote into `set`, which was poisoned before it ran. `largest` is
/// largest_input() of the cell. The error is the worst deviation relative to its tolerance
/// (gemm_tolerance.h), or to the value itself (to 1 if that is less) where the result must be
/// exact. `seed` selects the elements. Error: as from the device's calls.
Result<Verification> verify_gemm(Stream& stream, GemmMatrices& matrices, const GemmProblem& problem,
                                 const OperandSet& set, double largest, std::uint64_t seed);

}  // namespace assay
