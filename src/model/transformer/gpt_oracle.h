// A GPT's forward and backward pass in plain loops and double precision, as the reference of all
// others: it is checked against finite differences (tests/unit/model/transformer/gpt_oracle_test.cpp), and
// every kernel and whole steps are checked against it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/transformer/gpt_layout.h"

namespace assay {

class GptOracle {
 public:
  /// `parameters`: laid out as GptParameters::of(shape).
  GptOracle(const GptShape& shape, std::int64_t batch, std::int64_t sequence,
            std::vector<double> parameters)
      : shape_(shape),
        layout_(GptParameters::of(shape)),
        batch_(static_cast<std::size_t>(batch)),
        sequence_(static_cast<std::size_t>(sequence)),
        parameters_(std::move(parameters)),
        gradients_(layout_.elements, 0) {}

  std::vector<double>& parameters() { return parameters_; }
  /// Of the last backward(), laid out like the parameters.
  const std::vector<double>& gradients() const { return gradients_; }
  const GptParameters& layout() const { return layout_; }

  /// The mean of -log of the probability given to each target. tokens, targets: [batch, sequence].
  double forward(std::span<const std::int32_t> tokens, std::span<const std::int32_t> targets);
  /// Gradients of the last forward()'s loss with respect to every parameter.
  void backward();

 private:
  using Vector = std::vector<double>;
  /// What a block leaves for backward(), each [tokens, its width].
  struct Block {
    Vector input, normed1, qkv, probabilities, attended, middle, normed2, before_gelu, hidden;
  };

  std::size_t width() const { return static_cast<std::size_t>(shape_.width); }
  std::size_t rows() const { return batch_ * sequence_; }
  std::size_t columns() const { return static_cast<std::size_t>(shape_.padded_vocabulary()); }
  const double* values(const Tensor& t) const { return &parameters_[t.offset]; }
  double* gradient(const Tensor& t) { return &gradients_[t.offset]; }
  std::size_t embedding_row(std::size_t token) const {
    return static_cast<std::size_t>(tokens_[token]) * width();
  }

  Vector linear(const Vector& x, const Tensor& weight, const Tensor& bias) const;
  Vector linear_back(const Vector& dy, const Vector& x, const Tensor& weight, const Tensor& bias);
  Vector norm(const Vector& x, const Tensor& weight, const Tensor& bias) const;
  Vector norm_back(const Vector& dy, const Vector& x, const Tensor& weight, const Tensor& bias);
  Vector attend(const Vector& qkv, Vector& probabilities) const;
  Vector attend_back(const Vector& dy, const Vector& qkv, const Vector& probabilities) const;
  double log_sum_exp(std::size_t row) const;

  GptShape shape_;
  GptParameters layout_;
  std::size_t batch_, sequence_;
  Vector parameters_, gradients_;
  std::vector<std::int32_t> tokens_, targets_;
  std::vector<Block> blocks_;
  Vector last_, normed_, logits_;
};

}  // namespace assay
