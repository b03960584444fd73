// Where every tensor of a GPT in training lies, known before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compute/vendor/attention/fused_attention.h"
#include "core/result.h"
#include "model/tensors/parameter_plan.h"
#include "model/tensors/tensor_layout.h"
#include "model/transformer/gpt_shape.h"

namespace assay {

/// The parameters of one block. Matrices are [outputs, inputs]; absent biases have no elements.
struct GptLayerParameters {
  Tensor norm1_weight, norm1_bias;
  Tensor qkv, qkv_bias;    ///< [3 C, C]: queries, keys and values, each of all heads
  Tensor proj, proj_bias;  ///< [C, C]
  Tensor norm2_weight, norm2_bias;
  Tensor fc, fc_bias;    ///< [F, C]
  Tensor fc2, fc2_bias;  ///< [C, F]
};

/// All parameters in the order in which a forward pass meets them. Gradients, master weights and
/// moments lie in arenas of the same layout, so an optimizer is one pass over them, and a range of
/// layers is a slice.
struct GptParameters {
  Tensor embedding;  ///< [padded vocabulary, C]; also the head
  Tensor positions;  ///< [T, C]
  std::vector<GptLayerParameters> layers;
  Tensor norm_weight, norm_bias;  ///< after the last block
  /// The embeddings; each block, the last one with the norm after it.
  std::vector<Section> sections;
  /// Of them used from the beginning of a pass to its end: the embeddings, which are the head too.
  static constexpr std::size_t kept_sections = 1;
  std::size_t elements = 0;  ///< of the arena, gaps included

  /// `slices`: as TensorPlaces.
  static GptParameters of(const GptShape& shape, int slices = 1);

  /// Every tensor that has elements, in order: "embedding", "layers.0.norm1_weight", ...
  std::vector<NamedTensor> named() const;
};

/// What of the forward pass is computed again in the backward pass instead of being kept.
enum class Recompute { none, gelu, layer };

/// plain: by matrix products, with all probabilities in memory; own: by assay's own kernels, which
/// keep one number per row instead, as libraries do: library in a way that always gives the same
/// bits, if it has one, library_unordered in one whose sums depend on which block ends first.
enum class AttentionWay { plain, own, library, library_unordered };
std::string_view name_of(AttentionWay way);
inline bool is_by_library(AttentionWay way) {
  return way == AttentionWay::library || way == AttentionWay::library_unordered;
}

/// How a training run is laid out.
struct GptPlan : ParameterPlan {
  GptShape shape;
  std::int64_t batch = 0, sequence = 0;
  Recompute recompute = Recompute::none;
  AttentionWay attention = AttentionWay::plain;

  std::int64_t tokens() const { return batch * sequence; }
};

/// Activations that a block keeps from forward to backward, in elements of the plan's type except
/// where said.
struct GptLayerActivations {
  Tensor normed1;        ///< [N, C]
  Tensor qkv;            ///< [N, 3 C]
  Tensor probabilities;  ///< [B H T, T] of plain attention
  Tensor attended;       ///< [N, C]
  Tensor middle;         ///< [N, C]: the residual stream after attention
  Tensor normed2;        ///< [N, C]
  Tensor before_gelu;    ///< [N, F]
  Tensor hidden;         ///< [N, F]: after GELU
  Tensor result;         ///< [N, C]: the residual stream after the block
  Tensor statistics1;    ///< f32 [N, 2]: mean and 1 / deviation of norm 1; an arena of its own
  Tensor statistics2;
  Tensor log_sum;  ///< f32 [B H, T]: log of the sum of exponentials, of flash attention
};

struct GptActivations {
  Tensor embedded;  ///< [N, C]
  std::vector<GptLayerActivations> layers;
  Tensor normed;      ///< [N, C]: after the last norm
  Tensor statistics;  ///< f32 [N, 2]
  Tensor logits;      ///< [N, padded vocabulary]; then their gradients
  // What backward needs besides, used again in every block.
  Tensor stream_gradient;    ///< [N, C]: of the residual stream
  Tensor branch_gradient;    ///< [N, C]
  Tensor hidden_gradient;    ///< [N, F]
  Tensor qkv_gradient;       ///< [N, 3 C]
  Tensor branch;             ///< [N, C]: forward: what a block adds to the stream
  std::size_t elements = 0;  ///< of the arena of the plan's type
  std::size_t floats = 0;    ///< of the arena of f32

  static GptActivations of(const GptPlan& plan);
};

/// Attention as a library is asked for it.
FusedAttentionProblem fused_attention_of(const GptPlan& plan);

TrainingMemory memory_of(const GptPlan& plan);

/// The largest batch whose memory_of() is at most `bytes`; 0 if not even one sequence fits.
std::int64_t largest_batch(GptPlan plan, std::uint64_t bytes);

/// "batch=3 would fit" or what else would, for a plan that needs more than `bytes`.
std::string what_would_fit(const GptPlan& plan, std::uint64_t bytes);

/// Bytes of scratch for reductions, attention's scores and update statistics. A library for
/// attention brings its own.
/// Elements of the gradients of looked-up embeddings that each rank sends the others; 0: none.
std::uint64_t gathered_lookups(const GptPlan& plan);
std::uint64_t scratch_bytes(const GptPlan& plan);

}  // namespace assay
