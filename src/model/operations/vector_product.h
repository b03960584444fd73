// The product of one row with a weight matrix, joined with what stands around it in a decoder
// (kernels/vector_product.cu). Matrix libraries are made for more rows: this one is bound by how
// fast the matrix is read.
#pragma once

#include <cstdint>

#include "compute/device/device.h"
#include "model/operations/kernels.h"

namespace assay {

class VectorProduct {
 public:
  static Result<VectorProduct> create(Device& device, DataType type, double norm_epsilon);

  /// W[outputs, inputs]
  struct Shape {
    std::int64_t outputs = 0, inputs = 0;
  };
  /// What is joined with a product.
  struct Around {
    /// [inputs]: x is divided by its root mean square and multiplied by this; or null.
    const void* norm = nullptr;
    const void* bias = nullptr;  ///< [outputs], or null
    bool add = false;            ///< to what is in y
  };
  /// y = x W^T, as `around` says.
  Status forward(Stream& stream, void* y, const void* x, const void* weight, Shape shape,
                 const Around& around);
  /// y = silu(x W1^T) * (x W2^T), where W1 and W2, each of `shape`, follow each other; x is normed
  /// as above.
  Status forward_swiglu(Stream& stream, void* y, const void* x, const void* weight, Shape shape,
                        const void* norm);

 private:
  VectorProduct(const DeviceFacts& facts, Kernels kernels, DataType type, double norm_epsilon)
      : facts_(&facts),
        kernels_(std::move(kernels)),
        element_(static_cast<std::int64_t>(size_of(type))),
        norm_epsilon_(static_cast<float>(norm_epsilon)) {}
  Status enqueue(Stream& stream, void* y, const void* x, const void* weight, Shape shape,
                 const Around& around, bool swiglu);

  const DeviceFacts* facts_;
  Kernels kernels_;
  std::int64_t element_;  // bytes
  float norm_epsilon_;
  Kernel* vector_product_ = nullptr;
};

}  // namespace assay
