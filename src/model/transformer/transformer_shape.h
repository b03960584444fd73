// The shape of a transformer that predicts the next token: blocks of attention and a perceptron,
// each behind a norm, add their results to a residual stream. GPT-2, Llama and Qwen are values of
// it. Everything here is counting; nothing is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

enum class NormKind {
  layer,  ///< LayerNorm, with a weight and a bias
  rms,    ///< RMSNorm, with a weight
};

enum class PositionKind {
  learned,  ///< a table of vectors, added to the embeddings
  rotary,   ///< queries and keys are rotated by their position (RoPE)
};

enum class ActivationKind {
  gelu,    ///< down(gelu(fc(x))), in GELU's tanh form
  swiglu,  ///< down(silu(gate(x)) * up(x))
};

/// Which matrices have biases; the head never has one.
enum class Biases { none, qkv, all };

/// Llama 3.1's extension of rotary positions beyond those of the first training: slow rotations are
/// slower by `factor`, fast ones are unchanged, and those between are interpolated.
/// https://arxiv.org/abs/2407.21783, "llama3" in transformers.
struct RopeScaling {
  double factor = 8, low_frequency = 1, high_frequency = 4, original_positions = 8192;

  bool operator==(const RopeScaling&) const = default;
};

/// A matrix [outputs, inputs] that a token is multiplied by.
struct ShapeMatrix {
  const char* name = "";  ///< "qkv", "proj"; "fc" and "fc2", or "gate_up" and "down"; "head"
  std::int64_t outputs = 0, inputs = 0;
  std::int64_t count = 1;  ///< how many there are: one of each block
  bool bias = false;

  double elements() const {
    return static_cast<double>(count) * static_cast<double>(outputs) * static_cast<double>(inputs);
  }
};

struct TransformerShape {
  std::int64_t layers = 0;
  std::int64_t heads = 0;       ///< query heads
  std::int64_t kv_heads = 0;    ///< heads of keys and of values; divides heads
  std::int64_t head_width = 0;  ///< heads * head_width may differ from width
  std::int64_t width = 0, hidden = 0, vocabulary = 0;
  NormKind norm = NormKind::rms;
  double norm_epsilon = 1e-5;
  PositionKind position = PositionKind::rotary;
  /// The most tokens of a sequence: the learned positions, or, of rotary ones, the limit that the
  /// model's configuration states (0: none).
  std::int64_t positions = 0;
  double rope_theta = 500000;
  std::optional<RopeScaling> rope_scaling = {};
  ActivationKind activation = ActivationKind::swiglu;
  bool head_norms = false;  ///< each head of queries and keys has a norm, before its rotation
  Biases biases = Biases::none;
  bool tied = false;  ///< the head is the embedding

  bool operator==(const TransformerShape&) const = default;

  std::int64_t query_width() const { return heads * head_width; }
  std::int64_t kv_width() const { return kv_heads * head_width; }
  /// Elements of a token's queries, keys and values.
  std::int64_t qkv_width() const { return query_width() + 2 * kv_width(); }
  /// Outputs of the perceptron's first matrix: SwiGLU has the gate's rows first, then those of up.
  std::int64_t up_width() const {
    return activation == ActivationKind::swiglu ? 2 * hidden : hidden;
  }
  /// Returns whether queries and keys are normed or rotated before attention.
  bool changes_heads() const { return position == PositionKind::rotary || head_norms; }
  bool has_qkv_bias() const { return biases != Biases::none; }
  bool has_all_biases() const { return biases == Biases::all; }
  /// Rows of the embedding and columns of the logits: the vocabulary, rounded up to a multiple that
  /// matrix units like. The added rows are 0, take no part in the loss and are never the next
  /// token.
  std::int64_t padded_vocabulary() const { return (vocabulary + 127) / 128 * 128; }

  /// The four matrices of every block, in the order of a pass, and the head, without padding.
  std::vector<ShapeMatrix> matrices() const;

  /// All parameters without padding; a tied head counts once.
  double parameters() const;
  /// Parameters that a token is multiplied by, without and with the head's.
  double layer_products() const;
  double products() const { return layer_products() + head_products(); }
  double head_products() const;
  /// Results of these products for one token: the rows of all matrices.
  double outputs() const;

  /// Floating-point operations of forward and backward per token by the field's rule of thumb, 6
  /// per parameter (Kaplan et al. 2020).
  double training_flops_per_token() const { return 6 * parameters(); }
  /// Floating-point operations of a forward pass over `tokens` tokens of one sequence, with
  /// `before` tokens before them, and logits of the last one only: 2 per parameter and token, and 4
  /// per pair of tokens, head and element of a head.
  double flops(double tokens, double before) const;
  /// Numbers that a token adds to the cache of keys and values.
  double cache_elements() const;
};

/// Error: usage if the numbers do not fit together.
Status validate(const TransformerShape& shape);

/// Error: usage, if the model allows fewer positions than `tokens`, the length of a sequence that
/// the user gave as `option` ("sequence=", "--max-model-len ").
Status check_positions(const TransformerShape& shape, std::string_view option, std::int64_t tokens);

/// Returns `tokens`, or the positions of the model if these are fewer.
std::int64_t within_positions(const TransformerShape& shape, std::int64_t tokens);

/// Checks a shape for inference (decoder.h), too. Error: also unsupported, if there are no kernels
/// for the kind of model or its heads.
Status validate_decoder(const TransformerShape& shape);

/// Checks a shape for quantized matrices, too, of which sixteen codes are read together.
Status validate_quantized(const TransformerShape& shape);

/// Rotations per position, in radians, of each of the head_width / 2 pairs of a head's elements; 0
/// with learned positions.
std::vector<double> rotary_frequencies(const TransformerShape& shape);

}  // namespace assay
