// A GPT's forward and backward pass in the plainest loops, as the reference of all others: in
// double it is checked against finite differences (tests/unit/gpt_oracle_test.cpp), and every
// kernel and whole steps are checked against it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/gpt_layout.h"

namespace assay {

/// Real: float or double.
template <typename Real>
class GptOracle {
 public:
  /// `parameters`: laid out as GptParameters::of(shape).
  GptOracle(const GptShape& shape, std::int64_t batch, std::int64_t sequence,
            std::vector<Real> parameters);
  ~GptOracle();
  GptOracle(GptOracle&&) noexcept;

  std::vector<Real>& parameters();
  /// Of the last backward(), laid out like the parameters.
  const std::vector<Real>& gradients() const;
  const GptParameters& layout() const;

  /// The mean of -log of the probability given to each target. tokens, targets: [batch, sequence].
  Real forward(std::span<const std::int32_t> tokens, std::span<const std::int32_t> targets);
  /// Gradients of the last forward()'s loss with respect to every parameter.
  void backward();

 private:
  class Pass;
  std::unique_ptr<Pass> pass_;
};

}  // namespace assay
