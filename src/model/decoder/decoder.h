// A decoder at work: passes over tokens of many sequences, whole prompts, parts of them, or single
// tokens, which leave keys and values in a paged cache and the logits of the rows that were asked
// for. What a pass computes is read from device memory, so that a captured pass can be replayed for
// other tokens. Several ranks can compute a pass together, each a part of every layer
// (tensor_parallel_shard.h): all make the same calls in the same order, and have the same logits,
// bit for bit.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compute/autotune/choice_cache.h"
#include "compute/autotune/choose_variant.h"
#include "compute/device/device.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "model/decoder/decoder_parameters.h"
#include "model/operations/activations.h"
#include "model/operations/elementwise.h"
#include "model/operations/joined_columns.h"
#include "model/operations/linear.h"
#include "model/operations/paged_attention.h"
#include "model/operations/prompt_attention.h"
#include "model/operations/rms_norm.h"
#include "model/operations/skinny_product.h"
#include "model/operations/token_rows.h"
#include "model/operations/vector_product.h"
#include "model/parallel/model_ranks.h"
#include "model/parallel/tensor_parallel.h"
#include "model/transformer/decoder_layout.h"

namespace assay {

/// What a decoder has room for.
struct DecoderLimits {
  std::int64_t tokens = 0;     ///< of a pass
  std::int64_t results = 0;    ///< rows of it with logits
  std::int64_t sequences = 0;  ///< at a time
  std::int64_t positions = 0;  ///< of a sequence
  std::int64_t blocks = 0;     ///< of the cache, page_tokens tokens each

  /// Blocks of a sequence that fills all positions.
  std::int64_t blocks_of_sequence() const { return (positions + page_tokens - 1) / page_tokens; }
};

/// Bytes on the device.
struct DecoderMemory {
  std::uint64_t weights = 0, cache = 0, activations = 0;

  std::uint64_t all() const { return weights + cache + activations; }
};

struct DecoderSettings {
  DecoderShape shape;
  DecoderLimits limits;
  DataType precision = DataType::bf16;   ///< f32 or bf16, of weights and cache too
  std::uint64_t seed = 1;                ///< of random weights
  std::optional<DataType> codes = {};    ///< of quantized matrices: e4m3, e4m3_fnuz or i8
  std::filesystem::path folder = {};     ///< whose files hold the weights; empty: they are random
  TensorParallelShard part = {};         ///< of several ranks, this one's
  ModelRanks ranks = {};                 ///< the others, if there are several
  PromptAttentionSettings prompts = {};  ///< how attention of whole prompts is computed
  /// Whether products of few rows and attention to the cache are chosen by measuring; else the
  /// usual ones are taken. Unset: they are, unless the device is emulated, whose times say nothing.
  std::optional<bool> measure_variants = {};
  /// By what attention to the cache is computed. Unset: chosen, of cache_attention_units().
  std::optional<PagedUnits> cache_attention = {};
  /// Asked while it is chosen how to compute, which takes seconds, if there is one. Of ranks that
  /// share a model, the others would wait for one that ends.
  std::function<bool()> stop_requested = {};

  DecoderWeightSettings weights() const { return {precision, codes, seed, folder, part}; }
};

/// By what attention to the cache can be computed, the usual one first.
std::vector<PagedUnits> cache_attention_units(const DeviceFacts& facts,
                                              const DecoderSettings& settings);

/// Of a rank.
DecoderMemory memory_of(const DecoderSettings& settings);

/// The tokens of a pass, as the host gives them. The first three have an element per token.
struct DecoderTokens {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;  ///< in its sequence, from 0
  std::vector<std::int32_t> sequences;
  std::vector<std::int32_t> results;  ///< rows whose logits are wanted
};

/// The size of a pass: of tokens set before, or left by advance().
struct DecoderPass {
  std::int64_t tokens = 0, results = 0;
  std::int64_t longest = 0;  ///< no position is larger
  /// Rows whose attention needs no cache: in the order of rows, none twice.
  std::vector<PromptRows> prompts = {};
  /// No token whose result is wanted sees another one of the pass: each is of a sequence of its
  /// own.
  bool apart = false;
};

class Decoder {
 public:
  /// Allocates everything and writes or reads the weights. `device` and `stream` must outlive it.
  /// Error: exhausted, naming the bytes; usage, naming the file and what is wrong with it, or what
  /// of the shape so many ranks cannot share.
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

  /// [rows, vocabulary], of the last pass. Waits for it.
  Result<std::vector<float>> logits(Stream& stream, std::int64_t rows);
  /// The most likely next tokens of the last pass. Waits for it.
  Result<std::vector<std::int32_t>> next_tokens(Stream& stream, std::int64_t rows);
  /// The same without memory of its own: one for each element of `next`.
  Status next_tokens(Stream& stream, std::span<std::int32_t> next);
  /// Makes all results NaN, or no token, so that those of an earlier pass are not taken for new.
  Status poison_results(Stream& stream);
  /// The weights in f32, laid out as DecoderWeights::of(computed_shape()); of several ranks each
  /// has its own part of them there, and 0 elsewhere.
  Result<std::vector<float>> weights(Stream& stream);
  /// Normally distributed numbers as keys and values of all blocks.
  Status fill_cache(Stream& stream);
  /// Waits until the stream is idle. Error: of the device; failed, if another rank is lost.
  Status wait(Stream& stream);

  const DecoderSettings& settings() const { return settings_; }
  const DecoderParameters& parameters() const { return *weights_; }
  /// Whether the pass is computed by products of a vector: of one token, on a GPU.
  bool is_of_one(const DecoderPass& pass) const;
  /// Whether it may be by products of few rows: in bf16, on a GPU with matrix units.
  bool is_of_few(const DecoderPass& pass) const;
  /// By what the products of a pass of one or few tokens were computed: "4 ahead, 3 of 3 blocks",
  /// or "library", or of each product: "qkv ...; proj ...". After the pass.
  std::string multipliers_of(const DecoderPass& pass) const;
  /// By what attention of such a pass to the cache is computed: "vector units" or "matrix units".
  std::string cache_attention_of(const DecoderPass& pass) const;
  /// What ranks tell each other; null if there is only one.
  TensorParallel* exchange() { return exchange_.get(); }
  /// Of matrix products: "cublaslt 13.0".
  std::string libraries() const { return plans_.libraries(); }
  /// By what attention of whole prompts was computed so far, as PromptAttention::name(); "cache":
  /// as of all other tokens.
  std::string prompt_attention() const {
    return prompt_attention_ == nullptr ? "cache" : prompt_attention_->name();
  }

 private:
  Decoder(Device& device, Stream& stream, const DecoderSettings& settings);
  Status prepare(Stream& stream);
  Status allocate(Stream& stream);
  Status load_operations();
  Status upload_angles(Stream& stream);
  Status enqueue_layer(Stream& stream, std::size_t layer, const DecoderPass& pass);
  Status enqueue_head(Stream& stream, const DecoderPass& pass);
  /// The same for a pass of one token, by products of a vector.
  Status enqueue_layer_of_one(Stream& stream, std::size_t layer, const DecoderPass& pass);
  Status enqueue_head_of_one(Stream& stream);
  Status enqueue_all(Stream& stream, const DecoderPass& pass);

  /// The products of a pass: four of each layer, and the logits.
  enum Product { qkv, proj, gate_up, down, head, product_count };
  /// By what one of them is computed: the one that is not null, or the library.
  struct Multiplier {
    std::shared_ptr<VectorProduct> vector = {};
    std::shared_ptr<SkinnyProduct> skinny = {};

    std::string name() const;
  };
  using Multipliers = std::array<Multiplier, product_count>;
  /// One that may be the fastest.
  struct Candidate {
    std::string name;
    std::function<Result<Multiplier>()> create;
    std::optional<Multiplier> made = {};
    std::optional<Error> why_not = {};  ///< it cannot be made

    /// Creates it, unless that was tried before.
    Status prepare();
  };
  /// Those that are fastest in passes of this kind, measured the first time: not while a stream is
  /// captured.
  Result<Multipliers> multipliers_for(Stream& stream, const DecoderPass& pass);
  Result<Multipliers> fastest_of(Stream& stream, const DecoderPass& pass, const ChoiceKey& key,
                                 std::vector<Candidate> candidates);
  Result<Multipliers> fastest_for_one(Stream& stream, const DecoderPass& pass);
  Result<Multipliers> fastest_for_few(Stream& stream, const DecoderPass& pass);
  Result<std::shared_ptr<PagedAttention>> open_cache_attention(PagedUnits units);
  /// Chooses by what attention to the cache is computed.
  Status choose_cache_attention(Stream& stream);
  Status choose_cache_attention_of(Stream& stream, std::int64_t count,
                                   std::shared_ptr<PagedAttention>& used);
  Status set_random_tokens(Stream& stream, const DecoderPass& pass, std::int64_t blocks);
  PagedAttention& cache_attention(const DecoderPass& pass) const {
    return pass.tokens == 1 ? *cache_attention_of_one_ : *cache_attention_;
  }
  bool measures_choices() const;
  /// Those that are taken where nothing is measured: between ranks, numbers are the library's.
  Status take_usual_multipliers();
  bool has_skinny_products() const;
  Result<ChoiceKey> choice_key(std::string what, const std::string& kernels) const;
  /// Under which the multipliers of a pass are kept: of one token, or of up to as many tokens.
  std::int64_t size_class(const DecoderPass& pass) const;

  StoredMatrix matrix(const WeightMatrix& m) const;
  /// y = x W^T + bias, for `rows` rows; `bias` has no elements if there is none.
  Status multiply(Stream& stream, Product product, void* y, const void* x,
                  const WeightMatrix& weight, const Tensor& bias, std::int64_t rows);
  Status attend(Stream& stream, std::size_t layer, const DecoderPass& pass);
  /// Adds up what the ranks have of `elements` of a layer's result.
  Status add_up(Stream& stream, void* branch, std::int64_t elements);
  /// residual += y W^T for one row, of all ranks.
  Status project_one(Stream& stream, Product product, const void* y, const WeightMatrix& weight);
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
  Status copy_input(Stream& stream, const Tensor& to, const std::vector<std::int32_t>& from);

  Device& device_;
  DecoderSettings settings_;
  const DecoderShape own_;  // this rank's of settings_.shape
  const std::size_t element_;
  const DecoderActivations activations_;
  const Inputs places_;
  std::optional<DecoderParameters> weights_;
  Buffer cache_, active_, inputs_, start_, angles_, scratch_;
  GemmPlans plans_;
  std::optional<Activations> functions_;
  std::optional<Linear> linear_;
  std::optional<RmsNorm> norm_;
  std::shared_ptr<PagedAttention> cache_attention_of_one_, cache_attention_;  // of tokens of a pass
  std::unique_ptr<PromptAttention> prompt_attention_;  // null: prompts need the cache too
  Multipliers multipliers_;                            // of the pass that is being queued
  std::map<std::int64_t, Multipliers> chosen_;         // by size_class(), once there was a pass
  std::optional<TokenRows> rows_;
  // Of several ranks.
  std::unique_ptr<TensorParallel> exchange_;
  std::optional<Elementwise> elementwise_;
  std::optional<JoinedColumns> joined_;
};

}  // namespace assay
