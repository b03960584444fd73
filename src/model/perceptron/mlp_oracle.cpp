#include "model/perceptron/mlp_oracle.h"

#include <algorithm>

#include "model/operations/reference_sums.h"

namespace assay {

double MlpOracle::forward(std::span<const float> x, std::span<const float> targets) {
  results_.assign(1, std::vector<double>(x.begin(), x.end()));
  for (std::size_t layer = 0; layer < shape_.layers(); ++layer) {
    const std::size_t inputs = width(layer), outputs = width(layer + 1);
    const double* const w = &parameters_[layout_.layers[layer].weight.offset];
    const double* const b = &parameters_[layout_.layers[layer].bias.offset];
    const std::vector<double>& from = results_.back();
    std::vector<double> to(batch_ * outputs);
    for (std::size_t row = 0; row < batch_; ++row) {
      for (std::size_t o = 0; o < outputs; ++o) {
        const double sum =
            (shape_.bias ? b[o] : 0) + dot(&from[row * inputs], w + o * inputs, inputs);
        const bool last = layer + 1 == shape_.layers();
        to[row * outputs + o] = last ? sum : std::max(sum, 0.0);
      }
    }
    results_.push_back(std::move(to));
  }
  double total = 0;
  differences_.clear();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    differences_.push_back(results_.back()[i] - targets[i]);
    total += differences_[i] * differences_[i];
  }
  return total / static_cast<double>(targets.size());
}

void MlpOracle::backward() {
  gradients_.assign(layout_.elements, 0);
  std::vector<double> dy;
  for (const double d : differences_) {
    dy.push_back(2 * d / static_cast<double>(differences_.size()));
  }
  for (std::size_t layer = shape_.layers(); layer-- > 0;) {
    const std::size_t inputs = width(layer), outputs = width(layer + 1);
    const double* const w = &parameters_[layout_.layers[layer].weight.offset];
    double* const dw = &gradients_[layout_.layers[layer].weight.offset];
    const std::vector<double>& x = results_[layer];
    std::vector<double> dx(batch_ * inputs);
    for (std::size_t row = 0; row < batch_; ++row) {
      for (std::size_t o = 0; o < outputs; ++o) {
        const double d = dy[row * outputs + o];
        if (shape_.bias) gradients_[layout_.layers[layer].bias.offset + o] += d;
        add_scaled(dw + o * inputs, d, &x[row * inputs], inputs);
        add_scaled(&dx[row * inputs], d, w + o * inputs, inputs);
      }
    }
    for (std::size_t i = 0; i < dx.size(); ++i) {
      if (layer > 0 && x[i] <= 0) dx[i] = 0;  // where the ReLU gave 0
    }
    dy = std::move(dx);
  }
}

}  // namespace assay
