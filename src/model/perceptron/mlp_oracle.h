// A multi-layer perceptron's forward and backward pass in the plainest loops, in double: the
// reference of MlpTraining, itself checked against finite differences
// (tests/unit/model/perceptron/mlp_test.cpp).
#pragma once

#include <span>
#include <vector>

#include "model/perceptron/mlp_layout.h"

namespace assay {

class MlpOracle {
 public:
  /// `parameters`: laid out as MlpParameters::of(shape).
  MlpOracle(const MlpShape& shape, std::int64_t batch, std::vector<double> parameters)
      : shape_(shape),
        layout_(MlpParameters::of(shape)),
        batch_(static_cast<std::size_t>(batch)),
        parameters_(std::move(parameters)) {}

  std::vector<double>& parameters() { return parameters_; }
  /// Gradients of the last backward(), laid out like the parameters.
  const std::vector<double>& gradients() const { return gradients_; }
  const MlpParameters& layout() const { return layout_; }

  /// The mean squared error. x: [batch, inputs], targets: [batch, outputs].
  double forward(std::span<const float> x, std::span<const float> targets);
  /// Gradients of the last forward()'s error with respect to every parameter.
  void backward();

 private:
  std::size_t width(std::size_t i) const { return static_cast<std::size_t>(shape_.widths[i]); }

  MlpShape shape_;
  MlpParameters layout_;
  std::size_t batch_;
  std::vector<double> parameters_, gradients_;
  std::vector<std::vector<double>> results_;  // [batch, width] of the input and each layer
  std::vector<double> differences_;           // [batch, outputs], of the results and targets
};

}  // namespace assay
