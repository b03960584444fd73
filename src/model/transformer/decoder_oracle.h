// A decoder in plain loops and double precision, as the reference of all others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/transformer/decoder_layout.h"

namespace assay {

class DecoderOracle {
 public:
  /// `weights`: laid out as DecoderWeights::of(shape).
  DecoderOracle(const DecoderShape& shape, std::vector<double> weights);

  /// Logits of every token of one sequence, [tokens, vocabulary].
  std::vector<double> logits(std::span<const std::int32_t> tokens) const;

 private:
  using Vector = std::vector<double>;

  Vector linear(const Vector& x, const Tensor& weight, const Tensor* bias) const;
  /// Each `width` elements of x by their root mean square, times the weight.
  Vector norm(const Vector& x, const Tensor& weight) const;
  void rotate(double* head, std::size_t position) const;
  Vector attend(const Vector& qkv) const;

  DecoderShape shape_;
  DecoderWeights layout_;
  Vector weights_, frequencies_;
};

}  // namespace assay
