// A GEMM as BLAS libraries, their benchmarks, their logs and PyTorch describe it: column-major, D =
// op(A) op(B). A GemmProblem is row-major. A row-major matrix read as column-major is its
// transpose, so the problem's B is the call's A, and its n is the call's m.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compute/vendor/blas/gemm_problem.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// The names are those of hipblaslt-bench, unless a comment says more.
struct BlasCall {
  /// Scale factors of a stored operand: none, one, or one per row.
  enum class Scale { none, tensor, rows };

  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;        ///< 0: dense
  std::int64_t stride_a = 0, stride_b = 0, stride_d = 0;  ///< elements between the matrices of a
                                                          ///< batch; 0: dense
  DataType a = DataType::bf16, b = DataType::bf16, c = DataType::bf16, d = DataType::bf16;
  DataType compute = DataType::f32;
  double alpha = 1, beta = 0;
  Epilogue epilogue = Epilogue::none;  ///< named as for the row-major problem: bgrad_a is BGRADB in
                                       ///< BLAS libraries
  /// Types of the epilogue's bias and of its second matrix (GemmProblem::aux).
  DataType bias = DataType::bf16, aux = DataType::bf16;
  std::int64_t lde = 0;  ///< leading dimension of the second matrix; 0: dense
  Scale scale_a = Scale::none, scale_b = Scale::none;
  bool scale_d = false;  ///< whether D is multiplied by a factor
  bool amax_d = false;   ///< whether the largest magnitude in D is written
};

/// Returns the call of a problem.
BlasCall call_of(const GemmProblem& problem);

/// Returns the GEMM as a row-major problem. Error: usage if the numbers do not fit together;
/// unsupported if assay has no such GEMM.
Result<GemmProblem> problem_of(const BlasCall& call);

/// Returns the name of an element type in hipBLASLt and rocBLAS, "bf16_r" or "f8_fnuz_r"; empty for
/// types that they lack.
std::string_view bench_name(DataType type);
/// Returns the element type of such a name, or of one of rocBLAS' one-letter names; nullopt for
/// others.
std::optional<DataType> parse_bench_type(std::string_view name);
/// Returns the name of the type in which products are summed: "f32_r", or "xf32_r" for tf32.
std::string_view bench_compute_name(DataType compute);
/// Returns the type of such a name, which is f32, tf32, f64 or i32; nullopt for others.
std::optional<DataType> parse_bench_compute(std::string_view name);

}  // namespace assay
