#include "model/operations/norm.h"

#include <algorithm>
#include <string>

#include "model/operations/norm_shape.h"

namespace assay {

std::uint64_t norm_stripes(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t most_sums = 3 << 18, least_rows = 4;
  const std::int64_t most = std::max<std::int64_t>(1, most_sums / width);
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(rows / least_rows, 1, most));
}

Result<Norm> Norm::layer(Device& device, DataType type) {
  constexpr double epsilon = 1e-5;  // as in kernels/norm.cu
  return create(device, type, true, epsilon);
}

Result<Norm> Norm::rms(Device& device, DataType type, double epsilon,
                       std::optional<DataType> codes) {
  Norm made = TRY(create(device, type, false, epsilon));
  if (codes) {
    made.forward_codes_ =
        TRY(made.kernels_.of_type("add_rms_norm_" + std::string(name_of(*codes))));
  }
  return made;
}

Result<Norm> Norm::create(Device& device, DataType type, bool centred, double epsilon) {
  Norm made(device.facts(), TRY(Kernels::build(device, "norm", type)), centred, epsilon);
  made.forward_ = TRY(made.kernels_.of_type(centred ? "add_norm" : "add_rms_norm"));
  made.backward_ = TRY(made.kernels_.of_type("norm_backward"));
  return made;
}

Status Norm::forward(Stream& on, void* normed, void* statistics, void* sum, const void* stream,
                     const void* branch, const void* weight, const void* bias, Rows rows) {
  const auto count = std::uint64_t(rows.rows), width = std::uint64_t(rows.width);
  const LaunchShape shape = norm_shape(*facts_, rows);
  if (centred_) {
    return launch(on, *forward_, shape, normed, statistics, sum, stream, branch, weight, bias,
                  count, width);
  }
  return launch(on, *forward_, shape, {.programmatic = true}, normed, statistics, sum, stream,
                branch, weight, count, width, epsilon_);
}

Status Norm::forward_codes(Stream& on, CodedRows to, void* sum, const void* stream,
                           const void* branch, const void* weight, Rows rows) {
  return launch(on, *forward_codes_, norm_shape(*facts_, rows), {.programmatic = true}, to.codes,
                to.factors, sum, stream, branch, weight, std::uint64_t(rows.rows),
                std::uint64_t(rows.width), epsilon_);
}

Status Norm::backward(Stream& on, ColumnSums& sums, const Gradients& gradients, const void* dy,
                      const void* x, const void* statistics, const void* weight, void* scratch,
                      Rows rows) {
  const std::uint64_t stripes = norm_stripes(rows.rows, rows.width);
  TRY(launch(on, *backward_, norm_shape(*facts_, stripes, rows.width), gradients.input, scratch, dy,
             x, statistics, weight, std::uint64_t(rows.rows), std::uint64_t(rows.width),
             gradients.add_input ? 1 : 0, centred_ ? 1 : 0));
  if (gradients.weight == nullptr && gradients.bias_before == nullptr) return {};  // frozen
  return sums.of_stripes(on, {gradients.weight, gradients.bias, gradients.bias_before}, scratch, 3,
                         rows.width, stripes, gradients.add_parameters);
}

}  // namespace assay
