// A transformer's forward and backward pass in plain loops and double precision, the reference of
// all others. It is checked against finite differences
// (tests/unit/model/transformer/transformer_oracle_test.cpp); kernels, training steps and decoders
// are checked against it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "model/transformer/transformer_parameters.h"

namespace assay {

class TransformerOracle {
 public:
  /// `parameters` are laid out as TransformerParameters::of(shape).
  TransformerOracle(const TransformerShape& shape, std::vector<double> parameters)
      : shape_(shape),
        layout_(TransformerParameters::of(shape)),
        frequencies_(rotary_frequencies(shape)),
        parameters_(std::move(parameters)),
        gradients_(layout_.elements, 0) {}

  std::vector<double>& parameters() { return parameters_; }
  /// Gradients of the last backward(), laid out like the parameters.
  const std::vector<double>& gradients() const { return gradients_; }
  const TransformerParameters& layout() const { return layout_; }

  /// Changes what the product with `weight` reads of each token, as a decoder does that quantizes
  /// it; empty: nothing is changed. Gradients do not know of it.
  using ChangeRow = std::function<void(std::span<double> row, const Tensor& weight)>;
  void change_inputs(ChangeRow change) { change_input_ = std::move(change); }

  /// Changes the rotated keys and the values that attention reads, each of a token and a head, as a
  /// decoder does whose cache holds codes.
  using ChangeVector = std::function<void(std::span<double> vector)>;
  void change_cached(ChangeVector change) { change_cached_ = std::move(change); }

  /// Logits of every token of one sequence, [tokens, vocabulary].
  std::vector<double> logits(std::span<const std::int32_t> tokens) const;

  /// The mean of -log of the probability given to each target that is not negative. Tokens and
  /// targets are those of sequences of `sequence` tokens, one after another. `document_starts`,
  /// unless empty: where in its sequence each token's document begins.
  double forward(std::span<const std::int32_t> tokens, std::span<const std::int32_t> targets,
                 std::int64_t sequence, std::span<const std::int32_t> document_starts = {});
  /// Computes the gradients of the last forward()'s loss with respect to every parameter.
  void backward();

 private:
  using Vector = std::vector<double>;
  /// What a block leaves for backward(), each [tokens, its width].
  struct Block {
    Vector input, normed1, qkv, rotated, probabilities, attended, middle, normed2,
        before_activation, hidden;
  };
  struct Pass {
    std::size_t sequence = 0;
    std::vector<std::size_t> tokens;
    std::vector<std::size_t> starts;  // of each token's document in its sequence
    std::vector<Block> blocks;
    Vector last, normed, logits;  // logits with padding

    /// The position of a token in its document.
    std::size_t position(std::size_t token) const { return token % sequence - starts[token]; }
  };
  enum class Direction { forward, backward };

  std::size_t width() const { return static_cast<std::size_t>(shape_.width); }
  std::size_t columns() const { return static_cast<std::size_t>(shape_.padded_vocabulary()); }
  std::size_t head_width() const { return static_cast<std::size_t>(shape_.head_width); }
  std::size_t heads() const { return static_cast<std::size_t>(shape_.heads); }
  std::size_t kv_heads() const { return static_cast<std::size_t>(shape_.kv_heads); }
  const double* values(const Tensor& t) const { return &parameters_[t.offset]; }
  double* gradient(const Tensor& t) { return &gradients_[t.offset]; }

  Pass run(std::span<const std::int32_t> tokens, std::size_t sequence,
           std::span<const std::int32_t> document_starts) const;
  Vector linear(const Vector& x, const Tensor& weight, const Tensor& bias) const;
  Vector linear_back(const Vector& dy, const Vector& x, const Tensor& weight, const Tensor& bias);
  void norm_row(double* y, const double* x, NormKind kind, const Tensor& weight,
                const Tensor& bias) const;
  void norm_row_back(double* dx, const double* dy, const double* x, NormKind kind,
                     const Tensor& weight, const Tensor& bias);
  Vector norm(const Vector& x, const Tensor& weight, const Tensor& bias) const;
  Vector norm_back(const Vector& dy, const Vector& x, const Tensor& weight, const Tensor& bias);
  template <typename Body>
  void for_each_rotated_head(std::size_t tokens, const LayerParameters& p, Body body) const;
  void rotate(double* head, std::size_t position, Direction direction) const;
  void change_keys_and_values(Vector& rotated) const;
  Vector rotate_heads(const Vector& qkv, const LayerParameters& p, const Pass& pass) const;
  Vector rotate_heads_back(Vector d, const Vector& qkv, const LayerParameters& p);
  Vector attend(const Vector& qkv, Vector& probabilities, const Pass& pass) const;
  Vector attend_back(const Vector& dy, const Vector& qkv, const Vector& probabilities) const;
  Vector activate(const Vector& before) const;
  Vector activate_back(const Vector& dy, const Vector& before) const;
  double log_sum_exp(std::size_t row) const;

  TransformerShape shape_;
  TransformerParameters layout_;
  Vector frequencies_, parameters_, gradients_;
  ChangeRow change_input_;
  ChangeVector change_cached_;
  Pass pass_;
  std::vector<std::int32_t> targets_;
  double counted_ = 0;  // targets that are not negative
};

}  // namespace assay
