// The columns of a matrix from ranks that have some of them each (kernels/joined_columns.cu).
#pragma once

#include "compute/device/device.h"
#include "model/operations/typed_kernels.h"

namespace assay {

class JoinedColumns {
 public:
  /// `type`: f32 or bf16.
  static Result<JoinedColumns> create(Device& device, DataType type);

  /// y[rows, parts * width]: row by row, the columns of x[parts, rows, width] beside each other.
  /// `width` is a multiple of eight.
  Status forward(Stream& stream, void* y, const void* x, std::int64_t parts, std::int64_t rows,
                 std::int64_t width);

 private:
  JoinedColumns(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel* join_columns_ = nullptr;
};

}  // namespace assay
