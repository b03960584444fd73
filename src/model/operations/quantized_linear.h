// A matrix applied to rows, y = x W^T + b, where both are codes of FP8: each row of x (a token) and
// each row of W (an output) has a factor. Sums are f32, results bf16. Where an operation produces
// x, it leaves codes (Norm::forward_codes, Activations::swiglu_codes); quantize() does it for
// others.
#pragma once

#include <utility>

#include "compute/device/device.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "model/operations/activations.h"
#include "model/operations/linear_products.h"
#include "model/operations/quantized_rows.h"
#include "model/operations/stored_matrix.h"

namespace assay {

class QuantizedLinear {
 public:
  /// `codes`: e4m3 or e4m3_fnuz. `plans` and `functions`, of bf16, must outlive it. A library is
  /// asked here, once, whether it has factors of rows and columns. Error: unsupported or
  /// unavailable, if the device or its libraries multiply no such codes.
  static Result<QuantizedLinear> create(Device& device, GemmPlans& plans, Activations& functions,
                                        DataType codes);

  /// Quantizes x[rows, width] of bf16.
  Status quantize(Stream& stream, CodedRows to, const void* x, std::int64_t rows,
                  std::int64_t width) {
    return rows_.quantize(stream, to.codes, to.factors, x, rows, width);
  }
  /// Returns whether forward() is forward_in_steps().
  bool scales_in_steps() const { return in_steps_; }
  /// y = x W^T + bias; `bias` may be null. Inputs and outputs are multiples of 16.
  Status forward(Stream& stream, void* y, StoredMatrix x, StoredMatrix weight, const void* bias,
                 LinearShape shape);
  /// Does that by a product of the codes alone and a kernel that scales it, for libraries that have
  /// no factors of rows and columns.
  Status forward_in_steps(Stream& stream, void* y, StoredMatrix x, StoredMatrix weight,
                          const void* bias, LinearShape shape);

 private:
  QuantizedLinear(Device& device, GemmPlans& plans, Activations& functions, DataType codes,
                  QuantizedRows rows, bool in_steps)
      : facts_(&device.facts()),
        plans_(&plans),
        functions_(&functions),
        codes_(codes),
        rows_(std::move(rows)),
        in_steps_(in_steps) {}

  const DeviceFacts* facts_;
  GemmPlans* plans_;
  Activations* functions_;
  DataType codes_;
  QuantizedRows rows_;
  bool in_steps_;
};

}  // namespace assay
