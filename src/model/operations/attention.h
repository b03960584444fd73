// Causal self-attention of packed queries, keys and values, [tokens, 3, heads, head width].
#pragma once

#include <memory>

#include "compute/blas/gemm_plans.h"
#include "compute/device/device.h"
#include "model/operations/kernels.h"

namespace assay {

struct AttentionShape {
  std::int64_t batch = 0, sequence = 0, heads = 0, head_width = 0;

  std::int64_t width() const { return heads * head_width; }
};

/// By matrix products and a softmax in memory: works wherever those do, and is slow and large.
class PlainAttention {
 public:
  /// `plans` must outlive it.
  static Result<PlainAttention> create(Device& device, GemmPlans& plans, DataType precision);

  /// y[tokens, width]. `probabilities` [batch, heads, sequence, sequence] is kept for backward().
  /// `scratch`: f32 [heads, sequence, sequence].
  Status forward(Stream& stream, void* y, void* probabilities, const void* qkv, void* scratch,
                 const AttentionShape& shape);
  /// The gradient of qkv, all of it written. `scratch`: twice as large as for forward().
  Status backward(Stream& stream, void* d_qkv, const void* dy, const void* qkv,
                  const void* probabilities, void* scratch, const AttentionShape& shape);

 private:
  PlainAttention(const DeviceFacts& facts, GemmPlans& plans, DataType precision, Kernels kernels)
      : facts_(&facts), plans_(&plans), precision_(precision), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  GemmPlans* plans_;
  DataType precision_;
  Kernels kernels_;
  Kernel *softmax_ = nullptr, *softmax_backward_ = nullptr;
};

}  // namespace assay
