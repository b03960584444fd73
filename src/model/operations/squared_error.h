// The mean squared error of a regression and its gradient.
#pragma once

#include "compute/device/device.h"
#include "compute/kernels/step_state.h"
#include "model/data/regression_batches.h"
#include "model/operations/column_sums.h"
#include "model/operations/typed_kernels.h"

namespace assay {

class SquaredError {
 public:
  static Result<SquaredError> create(Device& device, DataType type);

  /// x[shape] = the inputs of the chosen batch.
  Status choose_inputs(Stream& stream, void* x, const DeviceRegressionBatches& data,
                       BatchChoice choice, Rows shape);
  /// Replaces y[shape] by the gradients of the mean of all squared errors of a step. losses: f32
  /// [rows], the mean of each row.
  Status forward_backward(Stream& stream, void* y, void* losses,
                          const DeviceRegressionBatches& data, BatchChoice choice, Rows shape);

 private:
  SquaredError(const DeviceFacts& facts, Kernels kernels)
      : facts_(&facts), kernels_(std::move(kernels)) {}

  const DeviceFacts* facts_;
  Kernels kernels_;
  Kernel *choose_rows_ = nullptr, *squared_error_ = nullptr;
};

}  // namespace assay
