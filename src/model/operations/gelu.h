// GELU (tanh) and its gradient.
#pragma once

#include "compute/device/device.h"
#include "model/operations/kernels.h"

namespace assay {

class Gelu {
 public:
  static Result<Gelu> create(Device& device, DataType type);
  /// y = gelu(x)
  Status forward(Stream& stream, void* y, const void* x, std::int64_t elements);
  /// d *= gelu'(x)
  Status backward(Stream& stream, void* d, const void* x, std::int64_t elements);

 private:
  Gelu(const DeviceFacts& facts, Kernels kernels) : facts_(&facts), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel *gelu_ = nullptr, *gelu_backward_ = nullptr;
};

}  // namespace assay
