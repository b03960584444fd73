// A matrix with an optional bias applied to rows, y = x W^T + b, and its gradients; alone and
// joined with a GELU, by the library's epilogue where that is faster.
#pragma once

#include "compute/blas/gemm_plans.h"
#include "compute/device/device.h"
#include "model/operations/gelu.h"
#include "model/operations/kernels.h"

namespace assay {

/// x[rows, inputs], W[outputs, inputs], y[rows, outputs].
struct LinearShape {
  std::int64_t rows = 0, outputs = 0, inputs = 0;
};

class Linear {
 public:
  /// Products are computed in `precision`: f32, tf32 or bf16. `fuse`: whether a library's epilogue
  /// computes the GELU where there is one; empty: where it is faster. `plans` and `gelu` must
  /// outlive it.
  static Result<Linear> create(Device& device, GemmPlans& plans, Gelu& gelu, DataType precision,
                               std::optional<bool> fuse);

  /// `bias` may be null.
  Status forward(Stream& stream, void* y, const void* x, const void* weight, const void* bias,
                 LinearShape shape);
  /// before = x W^T + b, y = gelu(before).
  Status forward_gelu(Stream& stream, void* y, void* before, const void* x, const void* weight,
                      const void* bias, LinearShape shape);
  /// Whether a library computes forward_gelu() and input_gradient_gelu() in one.
  bool can_fuse(LinearShape forward, bool with_bias, LinearShape backward);
  /// dx = dy W
  Status input_gradient(Stream& stream, void* dx, const void* dy, const void* weight,
                        LinearShape shape);
  /// dx = dy W * gelu'(before)
  Status input_gradient_gelu(Stream& stream, void* dx, const void* dy, const void* weight,
                             const void* before, LinearShape shape);
  /// dW = dy^T x, added to what is there if `add`.
  Status weight_gradient(Stream& stream, void* dw, const void* dy, const void* x, LinearShape shape,
                         bool add);

 private:
  Linear(const DeviceFacts& facts, GemmPlans& plans, Gelu& gelu, DataType precision,
         std::optional<bool> fuse, Kernels kernels)
      : facts_(&facts),
        plans_(&plans),
        gelu_(&gelu),
        precision_(precision),
        fuse_(fuse),
        kernels_(std::move(kernels)) {}
  GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a,
                      bool transpose_b) const;
  GemmProblem forward_with_gelu(LinearShape shape, bool with_bias) const;
  GemmProblem input_gradient_with_gelu(LinearShape shape) const;
  /// Queues the faster of two ways.
  Status enqueue(Stream& stream, const GemmProblem& problem, const Contender& fused,
                 const Contender& separate);

  const DeviceFacts* facts_;
  GemmPlans* plans_;
  Gelu* gelu_;
  DataType precision_;
  std::optional<bool> fuse_;
  Kernels kernels_;
  Kernel* add_bias_ = nullptr;
};

}  // namespace assay
