#include "model/operations/squared_error.h"

namespace assay {

Result<SquaredError> SquaredError::create(Device& device, DataType type) {
  SquaredError made(device.facts(), TRY(Kernels::build(device, "squared_error", type)));
  made.choose_rows_ = TRY(made.kernels_.of_type("choose_rows"));
  made.squared_error_ = TRY(made.kernels_.of_type("squared_error"));
  return made;
}

Status SquaredError::choose_inputs(Stream& stream, void* x, const DeviceRegressionBatches& data,
                                   BatchChoice choice, Rows shape) {
  const std::int64_t elements = shape.rows * shape.width;
  return launch(stream, *choose_rows_, shape_of_elements(*facts_, elements), x, data.x.data(),
                choice, std::uint64_t(elements));
}

Status SquaredError::forward_backward(Stream& stream, void* y, void* losses,
                                      const DeviceRegressionBatches& data, BatchChoice choice,
                                      Rows shape) {
  const float errors = static_cast<float>(shape.rows * shape.width);
  const float factor = 2 / (errors * static_cast<float>(choice.accumulate));
  return launch(stream, *squared_error_, shape_of_rows(*facts_, shape.rows, shape.width), y, losses,
                data.targets.data(), choice, std::uint64_t(shape.rows), std::uint64_t(shape.width),
                factor);
}

}  // namespace assay
