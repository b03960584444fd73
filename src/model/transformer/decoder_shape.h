// The shape of a decoder-only transformer of Llama's kind: RMS norms, rotary positions, query heads
// that share heads of keys and values, SwiGLU. Everything here is counting; nothing is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

/// How Llama 3.1 stretches its rotary positions beyond those it was first trained with: slow
/// rotations by `factor`, fast ones not, and those between partly.
/// https://arxiv.org/abs/2407.21783, transformers' "llama3".
struct RopeScaling {
  double factor = 8, low_frequency = 1, high_frequency = 4, original_positions = 8192;

  bool operator==(const RopeScaling&) const = default;
};

struct DecoderShape {
  std::int64_t layers = 0;
  std::int64_t heads = 0;       ///< of queries
  std::int64_t kv_heads = 0;    ///< of keys and values; divides heads
  std::int64_t head_width = 0;  ///< heads * head_width may differ from width
  std::int64_t width = 0, hidden = 0, vocabulary = 0;
  double norm_epsilon = 1e-5;
  double rope_theta = 500000;
  std::optional<RopeScaling> rope_scaling;
  bool head_norms = false;  ///< queries and keys are normed, each head by itself, before rotation
  bool qkv_bias = false;
  bool tied = false;  ///< the head is the embedding

  bool operator==(const DecoderShape&) const = default;

  std::int64_t query_width() const { return heads * head_width; }
  std::int64_t kv_width() const { return kv_heads * head_width; }
  /// Of queries, keys and values of a token together.
  std::int64_t qkv_width() const { return query_width() + 2 * kv_width(); }
  /// Rows of the embedding and columns of the logits: the vocabulary, rounded up to a multiple that
  /// matrix units like. The added rows are 0 and never the next token.
  std::int64_t padded_vocabulary() const { return (vocabulary + 127) / 128 * 128; }

  /// All parameters without padding; a tied head counts once.
  double parameters() const;
  /// Those that a token's matrix products use, without and with the head's.
  double layer_products() const;
  double products() const { return layer_products() + head_products(); }
  double head_products() const;
  /// Rows of the matrices of these products: outputs of a token.
  double outputs() const;

  /// Floating-point operations of a pass over `tokens` tokens of one sequence, which see `before`
  /// tokens each beside themselves and those of the pass before them; logits of the last one only:
  /// 2 per parameter and token, and 4 per pair of tokens, head and element of a head.
  double flops(double tokens, double before) const;
  /// Numbers that a token adds to the cache.
  double cache_elements() const;
};

/// The names that parse_decoder_shape() knows: "llama3-8b", "qwen3-0.6b", ...
const std::vector<std::string>& decoder_names();

/// A shape by its name, or by its numbers in any order, each followed by its letter:
/// "2L4H2K64D256C" is 2 layers, 4 heads of queries and 2 of keys, each 64 wide, width 256; K is H
/// unless given, D is C / H, F, the hidden width, 4 C, and V, the vocabulary, 32000. Error: usage,
/// naming the text and what is allowed.
Result<DecoderShape> parse_decoder_shape(std::string_view text);

/// Error: usage if the numbers do not fit together, unsupported if they are not computed.
Status validate(const DecoderShape& shape);

/// The same for quantized matrices, of which sixteen codes are read together.
Status validate_quantized(const DecoderShape& shape);

/// Rotations per position, radians, of each of the head_width / 2 pairs of a head's elements.
std::vector<double> rotary_frequencies(const DecoderShape& shape);

}  // namespace assay
