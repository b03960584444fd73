// A matrix product in the terms of BLAS libraries, their benchmarks, their logs and PyTorch:
// column-major, D = op(A) op(B). A GemmProblem is row-major, and a row-major matrix read as
// column-major is its transpose; so its B is the call's A, and its n the call's m.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compute/vendor/blas/gemm_problem.h"
#include "core/data_type.h"
#include "core/result.h"

namespace assay {

struct BlasCall {
  /// Factors of a stored operand: none, one, or one for each of its rows.
  enum class Scale { none, tensor, rows };

  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;        ///< 0: dense
  std::int64_t stride_a = 0, stride_b = 0, stride_d = 0;  ///< of a batch; 0: dense
  DataType a = DataType::bf16, b = DataType::bf16, c = DataType::bf16, d = DataType::bf16;
  DataType compute = DataType::f32;
  double alpha = 1, beta = 0;
  Epilogue epilogue = Epilogue::none;  ///< as of the row-major problem: bgrad_a is their BGRADB
  DataType bias = DataType::bf16, aux = DataType::bf16;
  std::int64_t lde = 0;  ///< 0: dense
  Scale scale_a = Scale::none, scale_b = Scale::none;
  bool scale_d = false, amax_d = false;
};

BlasCall call_of(const GemmProblem& problem);

/// Error: usage if the numbers do not fit together; unsupported if assay has no such product.
Result<GemmProblem> problem_of(const BlasCall& call);

/// "bf16_r", "f8_fnuz_r" as hipBLASLt and rocBLAS write element types; empty for types they lack.
std::string_view bench_name(DataType type);
/// The same, and rocBLAS' one-letter names.
std::optional<DataType> parse_bench_type(std::string_view name);
/// "f32_r", "xf32_r": the type in which products are summed. tf32 is "xf32_r".
std::string_view bench_compute_name(DataType compute);
std::optional<DataType> parse_bench_compute(std::string_view name);

}  // namespace assay
