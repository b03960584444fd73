// A matrix with an optional bias applied to rows, y = x W^T + b, and its gradients; alone and
// joined with a GELU or ReLU, by the library's epilogue where that is faster.
#pragma once

#include "compute/device/device.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "model/operations/activations.h"
#include "model/operations/linear_products.h"

namespace assay {

class Linear {
 public:
  /// Products are computed in `precision`: f32, tf32 or bf16. `fuse`: whether a library's epilogue
  /// computes the GELU where there is one; empty: where it is faster. `plans` and `activations`
  /// must outlive it.
  Linear(GemmPlans& plans, Activations& activations, DataType precision,
         std::optional<bool> fuse = std::nullopt)
      : plans_(&plans), activations_(&activations), precision_(precision), fuse_(fuse) {}

  /// y = x W^T + b, added to what is there if `add`. `bias` may be null, and must be if `add`.
  Status forward(Stream& stream, void* y, const void* x, const void* weight, const void* bias,
                 LinearShape shape, bool add = false);
  /// before = x W^T + b, y = gelu(before).
  Status forward_gelu(Stream& stream, void* y, void* before, const void* x, const void* weight,
                      const void* bias, LinearShape shape);
  /// y = max(x W^T + b, 0)
  Status forward_relu(Stream& stream, void* y, const void* x, const void* weight, const void* bias,
                      LinearShape shape);
  /// Returns whether a library computes forward_gelu() and input_gradient_gelu() in one.
  bool can_fuse(LinearShape forward, bool with_bias, LinearShape backward);
  /// dx = dy W, added to what is there if `add`.
  Status input_gradient(Stream& stream, void* dx, const void* dy, const void* weight,
                        LinearShape shape, bool add = false);
  /// dx = dy W * gelu'(before)
  Status input_gradient_gelu(Stream& stream, void* dx, const void* dy, const void* weight,
                             const void* before, LinearShape shape);
  /// dx = dy W, and 0 where y, the result of the forward_relu() before, is 0.
  Status input_gradient_relu(Stream& stream, void* dx, const void* dy, const void* weight,
                             const void* y, LinearShape shape);
  /// dW = dy^T x, added to what is there if `add`.
  Status weight_gradient(Stream& stream, void* dw, const void* dy, const void* x, LinearShape shape,
                         bool add);

 private:
  /// y = x W^T + b with a library's epilogue, if it has it.
  Result<bool> forward_with(Epilogue epilogue, Stream& stream, void* y, const void* x,
                            const void* weight, const void* bias, LinearShape shape);
  /// Queues the faster of two ways.
  Status enqueue(Stream& stream, const GemmProblem& problem, const Contender& fused,
                 const Contender& separate);

  GemmPlans* plans_;
  Activations* activations_;
  DataType precision_;
  std::optional<bool> fuse_;
};

}  // namespace assay
