// The shape of a GPT: pre-norm blocks, learned positions, GELU (tanh), two-matrix MLP, tied head.
// Everything here is counting; nothing is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

struct GptShape {
  std::int64_t layers = 0, heads = 0, width = 0, hidden = 0;
  std::int64_t vocabulary = 50257;
  std::int64_t positions = 0;  ///< learned ones; as many as a sequence has tokens
  bool bias = true;            ///< whether the four matrices of a block have biases

  bool operator==(const GptShape&) const = default;

  std::int64_t head_width() const { return width / heads; }
  /// Rows of the embedding and columns of the logits: the vocabulary, rounded up to a multiple that
  /// matrix units like. The added rows are 0 and take no part in the loss.
  std::int64_t padded_vocabulary() const { return (vocabulary + 127) / 128 * 128; }

  /// All parameters without padding; the tied head counts once:
  /// L (4 C^2 + 2 C F) + V C + T C + (2 L + 1) 2 C, and with biases L (5 C + F) more.
  double parameters() const;
  /// Floating-point operations of forward and backward per token by the field's rule of thumb, 6
  /// per parameter (Kaplan et al. 2020).
  double flops_per_token() const { return 6 * parameters(); }
  /// What attention adds per token, counting the causal half: 6 L C T (as llm.c counts it).
  double attention_flops_per_token(std::int64_t sequence) const {
    return 6.0 * static_cast<double>(layers) * static_cast<double>(width) *
           static_cast<double>(sequence);
  }
};

/// The names that parse_gpt_shape() knows, from the smallest: "30M", "124M", ...
const std::vector<std::string>& gpt_names();

/// A shape by its name, or by its numbers in any order, each followed by its letter: "6L6H384C" is
/// 6 layers, 6 heads, width 384; F, the hidden width, is 4 C unless given, and V, the vocabulary,
/// 50257. Positions are left 0. Error: usage, naming the text and what is allowed.
Result<GptShape> parse_gpt_shape(std::string_view text);

/// Error: usage if the numbers do not fit together (width not divisible by the heads, ...).
Status validate(const GptShape& shape);

}  // namespace assay
