#include "model/operations/layer_norm.h"

#include <algorithm>

#include "model/operations/norm_shape.h"

namespace assay {

std::uint64_t norm_stripes(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t most_sums = 3 << 18, least_rows = 4;
  const std::int64_t most = std::max<std::int64_t>(1, most_sums / width);
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(rows / least_rows, 1, most));
}

Result<LayerNorm> LayerNorm::create(Device& device, DataType type, ColumnSums& sums) {
  LayerNorm made(device.facts(), sums, TRY(Kernels::build(device, "norm", type)));
  made.add_norm_ = TRY(made.kernels_.of_type("add_norm"));
  made.norm_backward_ = TRY(made.kernels_.of_type("norm_backward"));
  return made;
}

Status LayerNorm::forward(Stream& on, void* normed, void* statistics, void* sum, const void* stream,
                          const void* branch, const void* weight, const void* bias, Rows rows) {
  const auto count = std::uint64_t(rows.rows);
  return launch(on, *add_norm_, norm_shape(*facts_, rows), normed, statistics, sum, stream, branch,
                weight, bias, count, std::uint64_t(rows.width));
}

Status LayerNorm::backward(Stream& on, const Gradients& gradients, const void* dy, const void* x,
                           const void* statistics, const void* weight, void* scratch, Rows rows) {
  const std::uint64_t stripes = norm_stripes(rows.rows, rows.width);
  TRY(launch(on, *norm_backward_, norm_shape(*facts_, stripes, rows.width), gradients.input,
             scratch, dy, x, statistics, weight, std::uint64_t(rows.rows),
             std::uint64_t(rows.width), gradients.add_input ? 1 : 0));
  return sums_->of_stripes(on, {gradients.weight, gradients.bias, gradients.bias_before}, scratch,
                           3, rows.width, stripes, gradients.add_parameters);
}

}  // namespace assay
