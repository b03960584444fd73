#include "model/training/gradient_self_check.h"

#include <cmath>

namespace assay {
namespace {

/// |a - b| / |b| over one tensor.
double distance(const std::vector<float>& a, const std::vector<double>& b, const Tensor& tensor) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.elements()); ++i) {
    const double x = a[tensor.offset + i], y = b[tensor.offset + i];
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
}

}  // namespace

bool is_worse(double error, double than) {
  return !std::isnan(than) && !(error <= than);
}

Status compare_gradients(Training& training, Stream& stream, const std::vector<double>& gradients,
                         double loss, GateResult& result) {
  const auto passes = static_cast<std::uint64_t>(training.accumulate());
  for (std::uint64_t pass = 0; pass < passes; ++pass) TRY(training.pass(stream, pass));
  const std::vector<float> found = TRY(training.gradients(stream));
  const double error = std::abs(TRY(training.losses(stream, 0, 1)).front() - loss);
  if (is_worse(error, result.loss_error)) result.loss_error = error;
  for (const NamedTensor& named : training.tensors()) {
    const double distant = distance(found, gradients, named.tensor);
    if (!is_worse(distant, result.gradient_error)) continue;
    result.gradient_error = distant;
    result.worst = named.name;
  }
  return {};
}

void judge(GateResult& result, DataType precision, Smoothness smoothness) {
  const bool kinked = smoothness == Smoothness::kinked;
  const bool narrow = precision == DataType::bf16;
  const bool rounded = precision == DataType::tf32 || precision == DataType::f16;  // as many bits
  const bool fp8 = is_fp8(precision);
  result.tolerance = fp8       ? 0.2
                     : narrow  ? (kinked ? 8e-2 : 3e-2)
                     : rounded ? (kinked ? 5e-2 : 5e-3)
                               : 1e-4;
  const double of_loss = fp8 ? 0.05 : narrow ? 0.02 : rounded ? 1e-3 : 1e-4;
  result.passed = result.gradient_error <= result.tolerance && result.loss_error <= of_loss;
}

}  // namespace assay
