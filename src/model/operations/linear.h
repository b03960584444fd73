// A matrix with an optional bias applied to rows, y = x W^T + b, and its gradients.
#pragma once

#include "compute/blas/gemm_plans.h"
#include "compute/device/device.h"
#include "model/operations/kernels.h"
#include "model/operations/layer_norm.h"

namespace assay {

/// x[rows, inputs], W[outputs, inputs], y[rows, outputs].
struct LinearShape {
  std::int64_t rows = 0, outputs = 0, inputs = 0;
};

class Linear {
 public:
  /// Products are computed in `precision`: f32, tf32 or bf16. `plans` and `norm` must outlive it.
  static Result<Linear> create(Device& device, GemmPlans& plans, LayerNorm& norm,
                               DataType precision);

  /// `bias` may be null.
  Status forward(Stream& stream, void* y, const void* x, const void* weight, const void* bias,
                 LinearShape shape);
  /// dx = dy W
  Status input_gradient(Stream& stream, void* dx, const void* dy, const void* weight,
                        LinearShape shape);
  /// dW = dy^T x and, unless null, db = the column sums of dy; added to what is there if `add`.
  /// `scratch`: f32 [column_stripes, outputs].
  Status weight_gradient(Stream& stream, void* dw, void* db, const void* dy, const void* x,
                         void* scratch, LinearShape shape, bool add);

 private:
  Linear(const DeviceFacts& facts, GemmPlans& plans, LayerNorm& norm, DataType precision,
         Kernels kernels)
      : facts_(&facts),
        plans_(&plans),
        norm_(&norm),
        precision_(precision),
        kernels_(std::move(kernels)) {}
  GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a,
                      bool transpose_b) const;

  const DeviceFacts* facts_;
  GemmPlans* plans_;
  LayerNorm* norm_;
  DataType precision_;
  Kernels kernels_;
  Kernel* add_bias_ = nullptr;
};

}  // namespace assay
