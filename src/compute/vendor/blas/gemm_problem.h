// One matrix product with its epilogue, in row-major terms, independent of any library.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/data_type.h"
#include "core/result.h"

namespace assay {

/// What is applied to x = alpha * op(A) op(B) + beta * C before D is stored. `bias` has n elements,
/// one per column of D, and is added to every row. gelu is the tanh approximation,
///   gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
enum class Epilogue {
  none,           ///< D = x
  bias,           ///< D = x + bias
  relu,           ///< D = max(x, 0)
  relu_bias,      ///< D = max(x + bias, 0)
  gelu,           ///< D = gelu(x)
  gelu_bias,      ///< D = gelu(x + bias)
  gelu_aux,       ///< D = gelu(x); aux[m,n] = x is written
  gelu_aux_bias,  ///< D = gelu(x + bias); aux[m,n] = x + bias is written
  dgelu,          ///< D = x * gelu'(aux); aux[m,n] is read
  dgelu_bgrad,    ///< dgelu, and bias[n] = column sums of D is written
  bgrad_a,        ///< D = x, and bias[m] = sum over k of op(A) is written
  bgrad_b,        ///< D = x, and bias[n] = sum over k of op(B) is written
};

bool reads_bias(Epilogue epilogue);
bool writes_bias(Epilogue epilogue);
bool reads_aux(Epilogue epilogue);
bool writes_aux(Epilogue epilogue);
std::string_view name_of(Epilogue epilogue);

/// D[m,n] = epilogue(alpha * op(A)[m,k] op(B)[k,n] + beta * C[m,n]) for each of `batch` matrices.
/// All matrices are row-major: A is stored [m,k], or [k,m] if transpose_a; B [k,n], or [n,k] if
/// transpose_b; a leading dimension is the distance between rows in elements. C and D share ldd
/// and stride_d.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;
  bool transpose_a = false, transpose_b = false;
  DataType a = DataType::bf16, b = DataType::bf16, c = DataType::bf16, d = DataType::bf16;
  /// The accumulation type: f64, f32, tf32 (f32 operands rounded to tf32) or i32. alpha and beta
  /// have this type too (f32 for tf32).
  DataType compute = DataType::f32;
  std::int64_t lda = 0, ldb = 0, ldd = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_d = 0;  ///< elements between matrices of a batch
  double alpha = 1, beta = 0;

  Epilogue epilogue = Epilogue::none;
  DataType bias = DataType::bf16;  ///< element type of bias
  DataType aux = DataType::bf16;   ///< element type of aux
  std::int64_t ld_aux = 0;

  /// fp8 only: accumulate in the matrix unit's own reduced precision for all of k, as in NVIDIA's
  /// libraries; faster on Hopper. ROCm's libraries and oneDNN refuse it; others without such a
  /// choice ignore it.
  bool fast_accumulate = false;
  /// Which operands have a factor in device memory (GemmOperands::scale_a (blas.h) ...).
  bool scales_a = false, scales_b = false, scales_d = false, writes_amax_d = false;
  /// Whether scale_a has a factor for each row of D, and scale_b one for each column; else one
  /// each.
  bool scales_lines = false;

  std::int64_t alignment = 256;  ///< alignment in bytes of every operand's address
  bool constant_b = false;  ///< B does not change, so a library may keep a copy in its own layout

  /// Number of multiprocessors to use, leaving the others to other work, e.g. communication; 0:
  /// all. A library without this setting refuses the problem as unsupported.
  int multiprocessors = 0;

  auto operator<=>(const GemmProblem&) const = default;

  /// Operations, 2 m n k batch.
  double flops() const { return 2.0 * double(m) * double(n) * double(k) * double(batch); }
  /// Elements from the first to one past the last of a batch, padding included.
  std::int64_t elements_a() const { return span(transpose_a ? k : m, lda, stride_a); }
  std::int64_t elements_b() const { return span(transpose_b ? n : k, ldb, stride_b); }
  std::int64_t elements_d() const { return span(m, ldd, stride_d); }
  /// Returns the minimum bytes that an enqueue must read and write: A, B and D once, and C if beta
  /// is not 0.
  double bytes() const;
  /// Elements of bias.
  std::int64_t bias_elements() const { return epilogue == Epilogue::bgrad_a ? m : n; }

 private:
  std::int64_t span(std::int64_t rows, std::int64_t ld, std::int64_t stride) const {
    return (batch - 1) * stride + rows * ld;
  }
};

/// Makes a problem with densely packed matrices (`pad` elements added to each row), inputs of type
/// `in`, C, D, bias and aux of type `out`, and the compute type that matches `in`.
GemmProblem make_gemm(std::int64_t m, std::int64_t n, std::int64_t k, DataType in, DataType out,
                      bool transpose_a = false, bool transpose_b = false, std::int64_t batch = 1,
                      std::int64_t pad = 0);

/// Error: usage, naming the first inconsistency (an extent below 1, a leading dimension shorter
/// than a row, overlapping matrices of a batch, an epilogue of a batch, incompatible types). A
/// stride of 0 is allowed for A and B: all products of the batch then share the matrix.
Status validate(const GemmProblem& problem);

/// Returns "m=4096 n=4096 k=4096 bf16*bf16->bf16 TN gelu_bias"; layout_of() explains the letters.
std::string describe(const GemmProblem& problem);

/// The transposes of the equivalent column-major BLAS call, in which our B comes first: NN is a @ b
/// in PyTorch, TN is a @ b.T (F.linear), NT is a.T @ b, TT is a.T @ b.T.
std::string_view layout_of(const GemmProblem& problem);

}  // namespace assay
