// A matrix with an optional bias applied to rows, y = x W^T + b, and its gradients.
#pragma once

#include "compute/blas/gemm_plans.h"
#include "compute/device/device.h"
#include "model/operations/kernels.h"

namespace assay {

/// x[rows, inputs], W[outputs, inputs], y[rows, outputs].
struct LinearShape {
  std::int64_t rows = 0, outputs = 0, inputs = 0;
};

class Linear {
 public:
  /// Products are computed in `precision`: f32, tf32 or bf16. `plans` must outlive it.
  static Result<Linear> create(Device& device, GemmPlans& plans, DataType precision);

  /// `bias` may be null.
  Status forward(Stream& stream, void* y, const void* x, const void* weight, const void* bias,
                 LinearShape shape);
  /// dx = dy W
  Status input_gradient(Stream& stream, void* dx, const void* dy, const void* weight,
                        LinearShape shape);
  /// dW = dy^T x, added to what is there if `add`.
  Status weight_gradient(Stream& stream, void* dw, const void* dy, const void* x, LinearShape shape,
                         bool add);

 private:
  Linear(const DeviceFacts& facts, GemmPlans& plans, DataType precision, Kernels kernels)
      : facts_(&facts), plans_(&plans), precision_(precision), kernels_(std::move(kernels)) {}
  GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a,
                      bool transpose_b) const;

  const DeviceFacts* facts_;
  GemmPlans* plans_;
  DataType precision_;
  Kernels kernels_;
  Kernel* add_bias_ = nullptr;
};

}  // namespace assay
