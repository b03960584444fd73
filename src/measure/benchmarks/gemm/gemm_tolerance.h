// The tolerance for a correct GEMM. Pure functions of the problem and of sums in double over the
// same elements that were multiplied.
//
// Notation: x = sum of products a b over k, Q^2 = sum of their squares, P = |x| + 2 Q, u the unit
// roundoff of a type (2^-significand bits), D = alpha x + bias before the epilogue.
//  - Accumulating: P estimates how large partial sums are (|x| where terms have one sign, Q times a
//    small number where signs are random). The rounding errors of k steps grow like a random walk,
//    and matrix units truncate once per instruction of depth 16: max(8 sqrt(k), k/16) * 2 u * P.
//    With fp8 operands Hopper keeps about 14 bits (DeepSeek-V3 report, section 3.3.2) and one
//    instruction covers 32 products: max(8, k/32) * 2^-13 * P. Sums of i8 products are exact.
//  - tf32 cuts each operand to 11 significant bits: 2^-9 P.
//  - Adding the bias: 2 u (|alpha x| + |bias|) of the type in which products are summed.
//  - Epilogue: relu is exact; gelu and its derivative go through a tanh with an error below 2^-11.
//  - Storing: u |D| of the output type, plus half of its smallest step near zero.
// If all products and sums are integers that the accumulator holds exactly, D must be the exact
// result rounded once to nearest even, and the tolerance is 0.
#pragma once

#include <cstdint>

#include "compute/vendor/blas/gemm_problem.h"

namespace assay {

/// One element of D and its inputs.
struct GemmSample {
  double sum = 0;      ///< sum of products, in double
  double squares = 0;  ///< sum of the squares of these products
  double bias = 0;     ///< bias of its column, if the epilogue reads one
  double aux = 0;      ///< the aux element at the same position, if the epilogue reads it
};

/// The expected value of D and its tolerance.
struct Expectation {
  double value = 0;
  double tolerance = 0;
};

/// The tanh approximation of GELU, and its derivative.
double gelu(double x);
double gelu_derivative(double x);

/// `x` rounded to nearest even in `type`'s significand (exponent range not considered).
double round_to(DataType type, double x);
/// Unit roundoff of `type`: half the distance from 1 to the next larger number. 0 for integers.
double unit_roundoff(DataType type);

/// Returns whether D must be exact: the epilogue has no gelu, all operands (bias included) are
/// integers of magnitude at most `largest`, and every partial sum fits the accumulator.
bool is_exact(const GemmProblem& problem, double largest);

/// The expected element of D. `exact` is the result of is_exact().
Expectation expected_d(const GemmProblem& problem, const GemmSample& sample, bool exact);
/// The expected aux element that an epilogue writes: the value before GELU.
Expectation expected_aux(const GemmProblem& problem, const GemmSample& sample);
/// The expected bias gradient of `terms` terms with this sum and sum of squares. `term_roundoff` is
/// the roundoff of the summed terms themselves (dgelu_bgrad sums D before rounding).
Expectation expected_bias_gradient(const GemmProblem& problem, double sum, double squares,
                                   std::int64_t terms, double term_roundoff);

}  // namespace assay
