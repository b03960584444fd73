// How a transformer is trained: what is kept for the backward pass, who computes attention, and the
// memory of all that, known before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/vendor/attention/fused_attention.h"
#include "model/operations/attention.h"
#include "model/tensors/parameter_plan.h"
#include "model/tensors/tensor_layout.h"
#include "model/transformer/lora.h"
#include "model/transformer/transformer_parameters.h"

namespace assay {

/// What the backward pass computes again instead of keeping it from the forward pass.
enum class Recompute {
  none,
  activation,  ///< the result of GELU or SwiGLU
  selective,   ///< that and the results of norms; products and attention are kept
  perceptron,  ///< everything in a block behind attention and its projection
  layer,       ///< everything but the result of each block
};

/// The implementation of attention in training.
enum class AttentionWay {
  plain,              ///< GEMMs with all probabilities in memory
  own,                ///< assay's kernels, which keep one number per row instead
  library,            ///< the vendor's, a deterministic one if there is one
  library_unordered,  ///< the vendor's, whose sums depend on which block ends first
};
std::string_view name_of(AttentionWay way);
inline bool is_by_library(AttentionWay way) {
  return way == AttentionWay::library || way == AttentionWay::library_unordered;
}

struct TransformerPlan : ParameterPlan {
  TransformerShape shape;
  std::int64_t batch = 0, sequence = 0;
  Recompute recompute = Recompute::none;
  AttentionWay attention = AttentionWay::plain;
  /// Whether a step has one pass. Then gradients are of use only from the backward pass to the
  /// update, and their memory is the activations' before that.
  bool one_pass = false;
  bool fp8 = false;        ///< whether blocks' matrices are multiplied in FP8, see fp8_layout.h
  bool documents = false;  ///< whether a sequence holds several, within which tokens attend
  /// Tokens whose logits are in memory at a time; 0: all of a pass, or parts of them if the logits
  /// of all would take gigabytes.
  std::int64_t head_rows = 0;
  /// Adapters that are trained instead of the model's own parameters, which are frozen.
  std::optional<LoraSettings> lora = std::nullopt;

  std::int64_t tokens() const { return batch * sequence; }
  /// Returns whether inputs of matrices are kept from forward to backward as FP8 codes alone:
  /// adapters, but nothing else, also need the numbers.
  bool keeps_inputs_as_codes() const { return fp8 && !lora; }
  /// head_rows, decided.
  std::int64_t rows_of_logits() const;
  bool cuts_logits() const { return rows_of_logits() < tokens(); }
  /// Frozen parameters are whole on every rank.
  ParameterLayout layout() const { return {.slices = lora ? 1 : parallel.ranks}; }
  /// The adapters, if there are any; else of every block none.
  LoraParameters adapters() const;
  /// The sections of the parameters that are trained.
  std::vector<Section> sections() const;
  /// The numbers that are trained.
  double trained_parameters() const;
};

AttentionShape attention_shape_of(const TransformerPlan& plan);

/// The problem that the vendor's library solves if it computes attention.
FusedAttentionProblem fused_attention_of(const TransformerPlan& plan);

TrainingMemory memory_of(const TransformerPlan& plan);

/// The largest batch whose memory_of() is at most `bytes`; 0 if not even one sequence fits.
std::int64_t largest_batch(TransformerPlan plan, std::uint64_t bytes);

/// Returns "batch=3 would fit", or what else would, for a plan that needs more than `bytes`.
std::string what_would_fit(const TransformerPlan& plan, std::uint64_t bytes);

/// Elements of the gradients of looked-up embeddings that each rank sends the others; 0: none.
std::uint64_t gathered_lookups(const TransformerPlan& plan);

/// Bytes of scratch for reductions, attention's scores and update statistics. A library for
/// attention brings its own.
std::uint64_t scratch_bytes(const TransformerPlan& plan);

}  // namespace assay
