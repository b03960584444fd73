// Inference with a Llama or Qwen: passes over tokens of many sequences. The tokens are whole
// prompts, parts of them, or single tokens. A pass leaves keys and values in a paged cache, and the
// logits of the rows that were asked for. It reads its tokens from device memory, so that a
// captured pass can be replayed for other tokens. Several ranks can compute a pass together, each a
// shard of every layer (tensor_parallel_shard.h). They make the same calls in the same order, and
// their logits are equal bit for bit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "model/decoder/decoder_activations.h"
#include "model/decoder/decoder_parameters.h"
#include "model/decoder/decoder_settings.h"
#include "model/decoder/decoder_variants.h"
#include "model/operations/activations.h"
#include "model/operations/elementwise.h"
#include "model/operations/head_rotation.h"
#include "model/operations/joined_columns.h"
#include "model/operations/linear.h"
#include "model/operations/norm.h"
#include "model/operations/prompt_attention.h"
#include "model/operations/quantized_linear.h"
#include "model/operations/token_logprobs.h"
#include "model/operations/token_rows.h"
#include "model/operations/token_sampling.h"
#include "model/parallel/tensor_parallel.h"
#include "model/tensors/weights.h"

namespace assay {

/// Bytes on the device.
struct DecoderMemory {
  std::uint64_t weights = 0, cache = 0, activations = 0;

  std::uint64_t all() const { return weights + cache + activations; }
};

/// The memory of one rank.
DecoderMemory memory_of(const DecoderSettings& settings);

class Decoder {
 public:
  /// Allocates everything and writes or reads the weights. `device` and `stream` must outlive it.
  /// Error: exhausted, naming the bytes; usage, naming the file and what is wrong with it, or what
  /// of the shape the ranks cannot share.
  static Result<std::unique_ptr<Decoder>> create(Device& device, Stream& stream,
                                                 const DecoderSettings& settings);

  /// Waits until they are there. Error: usage if they exceed the limits.
  Status set_tokens(Stream& stream, const DecoderTokens& tokens);
  /// Queues that the tokens are kept, and that they are again those that were kept, after
  /// advance().
  Status keep_tokens(Stream& stream);
  Status restart(Stream& stream);
  /// [limits.sequences, limits.blocks_of_sequence()]: the blocks of each sequence. Waits likewise.
  Status set_tables(Stream& stream, const std::vector<std::int32_t>& tables);
  /// Queues a pass. The first one of its size measures by which products it is fastest: it is not
  /// to be captured. If all tokens have results, rows of logits are those of the tokens; else those
  /// of DecoderTokens::results. With PromptAttentionSettings::any_lengths, a pass that has prompts
  /// is not to be captured.
  Status enqueue(Stream& stream, const DecoderPass& pass);
  /// Queues that each of the pass's tokens becomes the most likely next one of its sequence.
  Status advance(Stream& stream, const DecoderPass& pass);

  /// Allocates what drawing tokens needs, so that the first draw() cannot fail for want of it.
  Status reserve_drawing() { return sampling_->reserve(); }
  /// Queues that the next tokens of the last pass, which has this number of results, are drawn in
  /// `rows` instead of being the most likely ones, after `penalties`, which change logits. Both
  /// must stay as they are until a wait, and so must `logprobs`, the rows whose log probabilities
  /// are wanted. Error: usage, if there are more than the pass may have; exhausted.
  Status draw(Stream& stream, std::int64_t results, std::span<const DrawnRow> rows,
              std::span<const TokenPenalty> penalties, std::span<const LogprobRow> logprobs = {});
  /// Writes those of the last draw(), as they were before its penalties, an element for each row,
  /// and allocates nothing. Waits for them.
  Status logprobs(Stream& stream, std::span<RowLogprobs> found);

  /// [rows, vocabulary], of the last pass. Waits for it.
  Result<std::vector<float>> logits(Stream& stream, std::int64_t rows);
  /// The most likely next tokens of the last pass, or those drawn. Waits for it.
  Result<std::vector<std::int32_t>> next_tokens(Stream& stream, std::int64_t rows);
  /// Writes one next token to each element of `next`, and allocates nothing.
  Status next_tokens(Stream& stream, std::span<std::int32_t> next);
  /// Makes all results NaN, or no token, so that those of an earlier pass are not taken for new.
  Status poison_results(Stream& stream);
  /// The weights in f32, laid out as TransformerParameters::of(computed_shape()); of several ranks
  /// each has its own part of them there, and 0 elsewhere.
  Result<std::vector<float>> weights(Stream& stream);
  /// Normally distributed numbers as keys and values of all blocks.
  Status fill_cache(Stream& stream);
  /// Waits until the stream is idle. Error: of the device; failed, if another rank is lost.
  Status wait(Stream& stream);

  const DecoderSettings& settings() const { return settings_; }
  const DecoderParameters& parameters() const { return *weights_; }
  /// The implementations of GEMMs of few rows, and of attention to the cache.
  const DecoderVariants& variants() const { return *variants_; }
  /// The communication between ranks; null if there is only one.
  TensorParallel* exchange() { return exchange_.get(); }
  /// What products of quantized matrices read: "e4m3, a factor per token" (in some or all of them),
  /// or "bf16" and why. Empty: no matrices are quantized.
  std::string inputs_of_products() const;
  /// What the cache of keys and values holds: "bf16", or "e4m3, a factor per token and head", and
  /// who reads the numbers before they are rounded to codes, if passes may name prompts.
  std::string cache_type(bool without_prompts = false) const;
  /// Returns whether products may read codes, in some passes at least.
  bool may_read_codes() const { return quantized_linear_.has_value(); }
  /// Returns whether products of passes that are queued from now on read none, for checks.
  void leave_out_codes(bool leave_out) { leave_out_codes_ = leave_out; }
  /// The libraries that compute GEMMs: "cublaslt 13.0".
  std::string libraries() const { return plans_.libraries(); }
  /// The implementation of attention of whole prompts so far, as PromptAttention::name(); "cache":
  /// that of all other tokens.
  std::string prompt_attention() const {
    return prompt_attention_ == nullptr ? "cache" : prompt_attention_->name();
  }

 private:
  Decoder(Device& device, Stream& stream, const DecoderSettings& settings);
  Status prepare(Stream& stream);
  Status allocate(Stream& stream);
  Status load_operations();
  Status load_quantized_linear();
  Status upload_angles(Stream& stream);
  Status enqueue_layer(Stream& stream, std::size_t layer, const DecoderPass& pass);
  Status enqueue_head(Stream& stream, const DecoderPass& pass);
  /// These compute a pass of one token, by GEMVs.
  Status enqueue_layer_of_one(Stream& stream, std::size_t layer, const DecoderPass& pass);
  Status enqueue_head_of_one(Stream& stream);
  Status enqueue_all(Stream& stream, const DecoderPass& pass);

  using enum DecoderVariants::Product;
  Status choose_cache_attention(Stream& stream);
  Status set_random_tokens(Stream& stream, const DecoderPass& pass, std::int64_t blocks);

  StoredMatrix matrix(const Tensor& m) const;
  /// y = x W^T + bias, for `rows` rows; `bias` has no elements if there is none. If the product
  /// reads codes, x is where the operation before left it, in coded_inputs().
  Status multiply(Stream& stream, DecoderVariants::Product product, void* y, const void* x,
                  const Tensor& weight, const Tensor& bias, std::int64_t rows);
  Status attend(Stream& stream, std::size_t layer, const DecoderPass& pass);
  /// Adds `branch`, unless it is null, to the residual stream, and leaves the norm in `normed`, or
  /// in coded_inputs() if `to_codes`.
  Status add_and_norm(Stream& stream, bool to_codes, const void* branch, const Tensor& weight,
                      std::int64_t rows);
  /// Leaves x[rows, width] as codes if `product` reads these.
  Status quantize_for(Stream& stream, DecoderVariants::Product product, const void* x,
                      std::int64_t rows, std::int64_t width);
  CodedRows coded_inputs() const;
  /// Adds up what the ranks have of `elements` of a layer's result.
  Status add_up(Stream& stream, void* branch, std::int64_t elements);
  /// residual += y W^T for one row, of all ranks.
  Status project_one(Stream& stream, DecoderVariants::Product product, const void* y,
                     const Tensor& weight);
  /// Where this rank's logits go, and how those of all become `logits`.
  void* own_logits() const {
    return active(exchange_ ? activations_.own_logits : activations_.logits);
  }
  Status gather_logits(Stream& stream, std::int64_t rows);
  /// The rows of a pass from `begin` to `end`.
  PagedTokens paged_tokens(const DecoderPass& pass, std::int64_t begin, std::int64_t end) const;

  /// Where the host's tokens lie, i32 each.
  struct Inputs {
    Tensor tokens, positions, sequences, results, next, tables;
    std::size_t elements = 0;
  };
  static Inputs inputs_of(const DecoderLimits& limits);

  void* active(const Tensor& t) const { return address_of(active_, t, element_); }
  /// Rows of activations from `row` on, each `width` elements.
  void* row_of(const Tensor& t, std::int64_t row, std::int64_t width) const {
    return static_cast<std::byte*>(active(t)) + static_cast<std::size_t>(row * width) * element_;
  }
  void* input(const Tensor& t) const { return address_of(inputs_, t, sizeof(std::int32_t)); }
  PagedCache cache_of(std::size_t layer) const;
  Status fill_cache_of_codes(Stream& stream, InitialWeights& random);
  Status copy_input(Stream& stream, const Tensor& to, const std::vector<std::int32_t>& from);

  Device& device_;
  DecoderSettings settings_;
  const TransformerShape own_;  // this rank's of settings_.shape
  const std::size_t element_;
  const DecoderActivations activations_;
  const Inputs places_;
  std::optional<DecoderParameters> weights_;
  Buffer cache_, active_, coded_inputs_, inputs_, start_, angles_, scratch_, drawn_, penalties_;
  GemmPlans plans_;
  std::optional<Activations> functions_;
  std::optional<Linear> linear_;
  std::optional<Norm> norm_;
  std::optional<QuantizedLinear> quantized_linear_;
  std::string no_input_codes_;  // why there is none
  bool leave_out_codes_ = false;
  std::unique_ptr<PromptAttention> prompt_attention_;  // null: prompts need the cache too
  std::optional<DecoderVariants> variants_;
  DecoderVariants::Multipliers multipliers_;  // those of the pass that is being queued
  std::optional<TokenRows> rows_;
  std::optional<TokenSampling> sampling_;
  std::optional<TokenLogprobs> logprobs_;
  // These exist with several ranks.
  std::unique_ptr<TensorParallel> exchange_;
  std::optional<Elementwise> elementwise_;
  std::optional<JoinedColumns> joined_;
};

}  // namespace assay
