// Products of a few rows with a weight matrix, joined with what stands around them in a decoder
// (kernels/skinny_product.cu). Matrix libraries are made for more rows: these are bound by how fast
// the matrix is read.
#pragma once

#include <cstdint>

#include "compute/device/device.h"
#include "model/operations/kernels.h"
#include "model/operations/linear.h"

namespace assay {

class SkinnyProduct {
 public:
  static constexpr std::int64_t most_rows = 8;

  static Result<SkinnyProduct> create(Device& device, DataType type, double norm_epsilon);

  /// What is joined with a product.
  struct Around {
    /// [inputs]: x is divided by its root mean square and multiplied by this; or null.
    const void* norm = nullptr;
    const void* bias = nullptr;  ///< [outputs], or null
    bool add = false;            ///< y is not replaced
  };
  /// y = x W^T, as `around` says; up to most_rows rows.
  Status forward(Stream& stream, void* y, const void* x, const void* weight, const Around& around,
                 LinearShape shape);
  /// y = silu(x W1^T) * (x W2^T), where W1 and W2, of shape.outputs each, follow each other.
  Status forward_swiglu(Stream& stream, void* y, const void* x, const void* weight,
                        const void* norm, LinearShape shape);

 private:
  SkinnyProduct(const DeviceFacts& facts, Kernels kernels, double norm_epsilon)
      : facts_(&facts),
        kernels_(std::move(kernels)),
        norm_epsilon_(static_cast<float>(norm_epsilon)) {}
  Status launch_product(Stream& stream, void* y, const void* x, const void* weight,
                        const Around& around, LinearShape shape, bool swiglu);

  const DeviceFacts* facts_;
  Kernels kernels_;
  float norm_epsilon_;
  Kernel* of_rows_[4] = {};  // up to 1, 2, 4, 8
};

}  // namespace assay
