// A matrix applied to rows, y = x W^T, and its gradients as products of FP8, by torchao's
// tensorwise recipe: every tensor has one factor, from its largest magnitude at that moment; x and
// W are e4m3, gradients e5m2. Sums are f32, results bf16. The encodings are those of the device's
// matrix units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compute/device/device.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "model/operations/linear_products.h"
#include "model/operations/typed_kernels.h"

namespace assay {

/// The codes of a matrix [rows, columns] on the device, as kernels/quantize_tensor.cu writes them.
/// Products read both operands along the sum, so some read the matrix and some its transpose.
struct Fp8Matrix {
  void* codes = nullptr;             ///< [rows, columns]
  void* columns_of_codes = nullptr;  ///< [columns, rows]
  void* scale = nullptr;             ///< fp8_scale_bytes: factor and largest magnitude, f32
};

inline constexpr std::size_t fp8_scale_bytes = 16;
inline constexpr std::int64_t fp8_multiple = 16;  ///< of rows and columns

/// What a tensor is quantized as.
enum class Fp8Role {
  value,     ///< e4m3
  gradient,  ///< e5m2
};
DataType fp8_type(const DeviceFacts& facts, Fp8Role role);
/// Returns why the device has no FP8; empty: it has, or it is a CPU, where assay's own product
/// decodes them.
std::optional<std::string> fp8_unsupported(const DeviceFacts& facts);

/// The product d[m, n] = a[m, k] b[n, k]^T of codes of `type`, into bf16, without factors.
GemmProblem fp8_product(const DeviceFacts& facts, DataType type, std::int64_t m, std::int64_t n,
                        std::int64_t k);
/// Error: unsupported or unavailable, if no library multiplies codes of `type` on a GPU. Assay's
/// own product is a reference: on a GPU it would be far slower than bf16.
Status check_fp8_products(const DeviceFacts& facts, GemmPlans& plans, DataType type);

class Fp8Linear {
 public:
  /// `plans` must outlive it. Error: unsupported, if the device or its libraries have no FP8.
  static Result<Fp8Linear> create(Device& device, GemmPlans& plans);

  /// Raises the largest magnitude of a scale, which begins as 0, to that of x of bf16. Operations
  /// that produce x may have done so.
  Status find_largest(Stream& stream, void* scale, const void* x, std::int64_t elements);
  /// Quantizes x[rows, columns] of bf16, by the largest magnitude in the scale of `to`, into those
  /// members of `to` that are not null.
  Status quantize(Stream& stream, Fp8Role role, const Fp8Matrix& to, const void* x,
                  std::int64_t rows, std::int64_t columns);

  /// y = x W^T, added to what is there if `add`.
  Status forward(Stream& stream, void* y, const Fp8Matrix& x, const Fp8Matrix& weight,
                 LinearShape shape, bool add = false);
  /// dx = dy W, likewise.
  Status input_gradient(Stream& stream, void* dx, const Fp8Matrix& dy, const Fp8Matrix& weight,
                        LinearShape shape, bool add = false);
  /// dW = dy^T x, added to what is there if `add`.
  Status weight_gradient(Stream& stream, void* dw, const Fp8Matrix& dy, const Fp8Matrix& x,
                         LinearShape shape, bool add);

 private:
  Fp8Linear(Device& device, GemmPlans& plans, Kernels kernels)
      : facts_(&device.facts()), plans_(&plans), kernels_(std::move(kernels)) {}

  /// d[m, n] = a[m, k] b[n, k]^T
  GemmProblem product(std::int64_t m, std::int64_t n, std::int64_t k, Fp8Role role_of_a,
                      bool add = false) const;

  const DeviceFacts* facts_;
  GemmPlans* plans_;
  Kernels kernels_;
  Kernel *find_largest_ = nullptr, *quantize_value_ = nullptr, *quantize_gradient_ = nullptr;
};

}  // namespace assay
