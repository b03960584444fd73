#include "model/operations/layer_norm.h"

namespace assay {

Result<LayerNorm> LayerNorm::create(Device& device, DataType type) {
  LayerNorm made(device.facts(), TRY(Kernels::build(device, "norm", type)));
  made.add_norm_ = TRY(made.kernels_.of_type("add_norm"));
  made.norm_backward_ = TRY(made.kernels_.of_type("norm_backward"));
  made.norm_gradient_stripes_ = TRY(made.kernels_.of_type("norm_gradient_stripes"));
  made.column_stripes_ = TRY(made.kernels_.of_type("column_stripes"));
  made.add_stripes_ = TRY(made.kernels_.of_type("add_stripes"));
  return made;
}

Status LayerNorm::forward(Stream& on, void* normed, void* statistics, void* sum, const void* stream,
                          const void* branch, const void* weight, const void* bias, Rows rows) {
  return launch(on, *add_norm_, shape_of_rows(*facts_, rows.rows, rows.width), normed, statistics,
                sum, stream, branch, weight, bias, std::uint64_t(rows.rows),
                std::uint64_t(rows.width));
}

Status LayerNorm::backward(Stream& on, const Gradients& gradients, const void* dy, const void* x,
                           const void* statistics, const void* weight, void* scratch, Rows rows) {
  const auto count = std::uint64_t(rows.rows), width = std::uint64_t(rows.width);
  TRY(launch(on, *norm_gradient_stripes_, shape_of_sums(rows.width, column_stripes), scratch, dy, x,
             statistics, count, width, column_stripes));
  auto* partial = static_cast<float*>(scratch);
  TRY(add_stripes(on, gradients.weight, partial, rows.width, 2 * rows.width,
                  gradients.add_parameters));
  TRY(add_stripes(on, gradients.bias, partial + width, rows.width, 2 * rows.width,
                  gradients.add_parameters));
  return launch(on, *norm_backward_, shape_of_rows(*facts_, rows.rows, rows.width), gradients.input,
                dy, x, statistics, weight, count, width, gradients.add_input ? 1 : 0);
}

Status LayerNorm::column_sums(Stream& on, void* result, const void* x, void* scratch, Rows rows,
                              bool add) {
  TRY(launch(on, *column_stripes_, shape_of_sums(rows.width, column_stripes), scratch, x,
             std::uint64_t(rows.rows), std::uint64_t(rows.width), column_stripes));
  return add_stripes(on, result, scratch, rows.width, rows.width, add);
}

Status LayerNorm::add_stripes(Stream& on, void* result, const void* partial, std::int64_t width,
                              std::int64_t stride, bool add) {
  return launch(on, *add_stripes_, shape_of_elements(*facts_, width), result, partial,
                std::uint64_t(width), std::uint64_t(stride), column_stripes, add ? 1 : 0);
}

}  // namespace assay
