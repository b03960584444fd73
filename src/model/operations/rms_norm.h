// RMS norm, joined with the residual addition before it.
#pragma once

#include "compute/device/device.h"
#include "model/operations/column_sums.h"
#include "model/operations/typed_kernels.h"

namespace assay {

class RmsNorm {
 public:
  static Result<RmsNorm> create(Device& device, DataType type, double epsilon);

  /// stream += branch; normed = stream / sqrt(mean of its squares + epsilon) * weight, row by row.
  /// Without a branch (null) the stream stays.
  Status forward(Stream& on, void* normed, void* stream, const void* branch, const void* weight,
                 Rows rows);

 private:
  RmsNorm(const DeviceFacts& facts, Kernels kernels, double epsilon)
      : facts_(&facts), kernels_(std::move(kernels)), epsilon_(static_cast<float>(epsilon)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  float epsilon_;
  Kernel* add_rms_norm_ = nullptr;
};

}  // namespace assay
