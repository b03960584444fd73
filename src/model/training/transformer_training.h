// Training a transformer: its forward and backward pass as a sequence of operations on arenas that
// are laid out before the start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "compute/device/device.h"
#include "model/data/token_batches.h"
#include "model/operations/activations.h"
#include "model/operations/attention.h"
#include "model/operations/cross_entropy.h"
#include "model/operations/embedding.h"
#include "model/operations/fp8_linear.h"
#include "model/operations/head_rotation.h"
#include "model/operations/linear.h"
#include "model/operations/low_rank.h"
#include "model/operations/norm.h"
#include "model/training/training.h"
#include "model/training/training_layout.h"

namespace assay {

struct TransformerSettings : TrainingSettings {
  TransformerPlan plan;
  /// Whether products' epilogues compute the GELU, where a library has such; empty: where they are
  /// faster.
  std::optional<bool> fuse_gelu;
  /// The folder of a model in Hugging Face's format whose weights are trained; empty: random ones.
  std::filesystem::path weights;
};

class TransformerTraining final : public Training {
 public:
  /// Allocates everything, writes initial weights and uploads the batches. No step trains on those
  /// held back. `device` and `stream` must outlive it. Error: exhausted, naming the bytes and what
  /// would fit; usage if the batches do not belong to the plan.
  static Result<std::unique_ptr<TransformerTraining>> create(Device& device, Stream& stream,
                                                             const TransformerSettings& settings,
                                                             const TokenBatches& batches,
                                                             const TokenBatches& held_back = {});

  Status pass(Stream& stream, std::uint64_t number) override;
  /// The frozen weights beside adapters as f32, laid out as TransformerParameters::of(shape).
  Result<std::vector<float>> frozen_weights(Stream& stream) const;
  /// Returns whether there are epilogues for TransformerSettings::fuse_gelu to choose.
  bool can_fuse_gelu();
  /// Beside products "attention": "own", "library (cuDNN 9.19.0)".
  std::vector<std::pair<std::string, std::string>> notes() const override;
  std::uint64_t allocated_bytes() const override;
  /// Adapters have their alpha, and a checksum of the model beside which they are trained.
  Result<std::vector<std::pair<std::string, std::string>>> identity(Stream& stream) override;

 private:
  TransformerTraining(Device& device, Stream& stream, const TransformerSettings& settings);
  Status allocate_arenas(Stream& stream);
  Status load_operations(Stream& stream);
  Status add_checksum(Stream& stream, Elementwise& elementwise, std::uint64_t* sum) override;
  Status write_initial_weights(Stream& stream) override;
  Status write_model(Stream& stream);
  Status quantize_frozen_weights(Stream& stream);
  Status write_random_model(Stream& stream);
  Status write_initial_adapters(Stream& stream);

  HeldBack held_back() const override {
    return {held_back_.batches, held_back_.counted, held_back_.targets_of_batches()};
  }
  Result<Losses> held_back_pass(Stream& stream, BatchChoice choice) override;

  /// Computes the last norm's result, all that logits need. `new_weights`: whether they may have
  /// changed since the last pass.
  Status forward(Stream& stream, const DeviceBatches& data, BatchChoice choice, bool new_weights);
  Status forward_head(Stream& stream, const DeviceBatches& data, BatchChoice choice);
  Status logits_and_losses(Stream& stream, Phase phase, const DeviceBatches& data,
                           BatchChoice choice, std::int64_t first, std::int64_t rows);
  Status forward_layer(Stream& stream, Phase phase, std::size_t layer, void* stream_in,
                       void* branch_in);
  Status forward_perceptron(Stream& stream, Phase phase, std::size_t layer);
  Status norm_again(Stream& stream, const Tensor& normed, const Tensor& statistics, void* input,
                    const Tensor& weight, const Tensor& bias);
  Status rotate(Stream& stream, Phase phase, std::size_t layer);
  Status activate(Stream& stream, Phase phase, std::size_t layer);
  Status leave_branch(Stream& stream, std::size_t layer);
  Status backward(Stream& stream, BatchChoice choice, std::uint64_t number);
  Status backward_head(Stream& stream, BatchChoice choice, std::uint64_t number);
  /// Calls body(first, rows) for each part of the tokens whose logits are in memory at a time.
  template <typename Body>
  Status for_parts_of_logits(Body body) const;
  Status backward_last_norm(Stream& stream, bool add);
  Status backward_perceptron(Stream& stream, std::size_t layer, bool add);
  Status backward_attention(Stream& stream, std::size_t layer, bool add);
  Status bias_gradient(Stream& stream, const Tensor& bias, const void* dy, bool add);

  // Products with a block's matrices, of the plan's type or of FP8
  // (transformer_training_products.cpp).

  struct BlockMatrix {
    const Tensor& weight;
    const Tensor& bias;
    LinearShape shape;
    const Fp8Operands& fp8;
    /// Whether the operation that produces x or dy also finds its largest magnitude.
    bool finds_input = false, finds_gradient = false;
  };
  struct BlockMatrices {
    BlockMatrix qkv, proj, up, down;
  };
  BlockMatrices matrices_of(std::size_t layer) const;
  /// The adapters of a matrix, if it has any, and what they keep of x from forward to backward.
  struct AdaptersOfMatrix {
    const Tensor& ranks;
    const LoraGroup& group;
  };
  /// y = x W^T + b, and what adapters add.
  Status multiply_adapted(Stream& stream, Phase phase, std::string_view name, void* y,
                          const void* x, const BlockMatrix& matrix, AdaptersOfMatrix adapters);
  /// dx = dy W, and what adapters add. Their gradients are added to what is there if `add`.
  Status input_gradient_adapted(Stream& stream, std::string_view name, void* dx, const void* dy,
                                const void* x, const BlockMatrix& matrix, AdaptersOfMatrix adapters,
                                bool add);
  /// The gradients of adapters and, unless it is null, their part of dx.
  Status adapters_backward(Stream& stream, void* dx, const void* dy, const void* x,
                           AdaptersOfMatrix adapters, bool add);
  LowRankGroup low_rank_group(const LoraGroup& group) const;
  /// y = x W^T + b, added to what is there if `add`; then without a bias.
  Status multiply(Stream& stream, Phase phase, std::string_view name, void* y, const void* x,
                  const BlockMatrix& matrix, bool add = false);
  /// before = x W^T + b, y = gelu(before)
  Status multiply_gelu(Stream& stream, Phase phase, std::string_view name, void* y, void* before,
                       const void* x, const BlockMatrix& matrix);
  /// Prepares input_gradient() and weight_gradient() of the same dy.
  Status quantize_gradient(Stream& stream, const void* dy, const BlockMatrix& matrix);
  /// dx = dy W, added to what is there if `add`.
  Status input_gradient(Stream& stream, std::string_view name, void* dx, const void* dy,
                        const BlockMatrix& matrix, bool add = false);
  /// dx = dy W * gelu'(before)
  Status input_gradient_gelu(Stream& stream, std::string_view name, void* dx, const void* dy,
                             const void* before, const BlockMatrix& matrix);
  /// dW = dy^T x, added to what is there if `add`; nothing if W is frozen.
  Status weight_gradient(Stream& stream, std::string_view name, const void* dy, const void* x,
                         const BlockMatrix& matrix, bool add);
  Status begin_fp8_pass(Stream& stream, bool new_weights);
  /// Frozen weights are quantized when they are written.
  bool quantizes_weights(bool new_weights) const {
    return Fp8Layout::takes_turns(plan_) || (new_weights && !frozen());
  }
  /// Quantizes those weights of a block that do not take turns.
  Status quantize_weights(Stream& stream, std::size_t layer);
  /// Quantizes a weight into those members of `to` that are not null, if weights take turns.
  Status take_turn(Stream& stream, Phase phase, const BlockMatrix& matrix, Fp8Matrix to);
  /// Quantizes x for the product and, unless W is frozen or this comes later, for the gradient of
  /// W.
  Status quantize_input(Stream& stream, Phase phase, const void* x, const BlockMatrix& matrix);
  /// Quantizes x for the gradient of W, if the product did not.
  Status quantize_input_again(Stream& stream, const void* x, const BlockMatrix& matrix);
  Fp8Matrix fp8_weight(const Fp8Operands& operands) const;
  Fp8Matrix fp8_input(const Fp8Operands& operands) const;
  Fp8Matrix fp8_gradient(const Fp8Operands& operands) const;
  /// Null, if products are not FP8.
  void* scale(std::size_t number) const {
    return fp8_linear_ ? scales_.as<std::byte>() + number * fp8_scale_bytes : nullptr;
  }

  Status backward_embedding(Stream& stream, BatchChoice choice, std::uint64_t number);
  Status send_embedding_without_lookups(Stream& stream, std::uint64_t number);
  Status send_lookups(Stream& stream, std::uint64_t number);
  Status add_lookups(Stream& stream, std::uint64_t number);
  Status clear_gradient(Stream& stream, const Tensor& tensor);

  // With adapters the model's own parameters are frozen: no gradients, and no sections.

  bool frozen() const { return plan_.lora.has_value(); }
  void* weight(const Tensor& t) const {
    return frozen() ? address_of(frozen_, t, element_) : Training::weight(t);
  }
  void* weight_or_null(const Tensor& t) const { return t.elements() > 0 ? weight(t) : nullptr; }
  void* gradient_or_null(const Tensor& t) const {
    return frozen() ? nullptr : Training::gradient_or_null(t);
  }
  Status enter_part(Stream& stream, Phase phase, std::size_t section) {
    return frozen() ? Status() : enter(stream, phase, section);
  }
  Status leave_part(Stream& stream, Phase phase, std::size_t section) {
    if (phase == Phase::backward) TRY(clear_gaps(stream, section));
    return frozen() ? Status() : leave(stream, phase, section);
  }
  /// Sets what a section of gradients has between tensors to 0 if activations lay there, because
  /// the update reads whole sections.
  Status clear_gaps(Stream& stream, std::size_t section);
  bool adds_to_part(std::size_t section, std::uint64_t number) const {
    return adds_gradients(frozen() ? all_adapters : section, number);
  }
  /// The only section with adapters.
  static constexpr std::size_t all_adapters = 0;
  // Indices of TransformerParameters::sections.
  static constexpr std::size_t embeddings = 0;
  static std::size_t section_of(std::size_t layer) { return layer + 1; }
  std::size_t head_section() const {
    return parameters_.tied ? embeddings : section_of(parameters_.layers.size());
  }

  Losses losses_of_tokens() const { return {losses_.data(), plan_.tokens()}; }
  AttentionMemory attention_memory(const LayerActivations& a) const;
  AttentionShape attention_shape() const {
    AttentionShape shape = attention_shape_of(plan_);
    if (plan_.documents) shape.document_starts = document_starts_.as<std::int32_t>();
    return shape;
  }
  void* attention_input(const LayerActivations& a) const {
    return active(rotation_ ? activations_.rotated : a.qkv);
  }
  HeadRotation::Norms head_norms(std::size_t layer) const {
    const LayerParameters& p = parameters_.layers[layer];
    return {weight_or_null(p.query_norm), weight_or_null(p.key_norm)};
  }
  /// The stream before a block.
  void* input_of(std::size_t layer) const {
    return active(layer > 0 ? activations_.layers[layer - 1].result : activations_.embedded);
  }
  /// The rows of an activation from `first` on.
  void* rows_from(const Tensor& t, std::int64_t first, std::int64_t width) const {
    return static_cast<std::byte*>(active(t)) + static_cast<std::size_t>(first * width) * element_;
  }
  /// The gradient of the activation's input.
  void* before_gradient(const LayerActivations& a) const {
    return active(parameters_.gated ? a.before_activation : activations_.hidden_gradient);
  }
  void* active(const Tensor& t) const {
    return static_cast<std::byte*>(active_) + t.offset * element_;
  }
  void* active_or_null(const Tensor& t) const { return t.elements() > 0 ? active(t) : nullptr; }
  void* statistic(const Tensor& t) const { return address_of(floats_, t, sizeof(float)); }

  const TransformerPlan plan_;
  const std::optional<bool> fuse_gelu_;
  const std::filesystem::path folder_;  // of the weights; empty: random ones
  const TransformerParameters parameters_;
  const LoraParameters adapters_;
  const TrainingActivations activations_;
  std::optional<Embedding> embedding_;
  std::optional<ColumnSums> column_sums_;
  std::optional<Norm> norm_;
  std::optional<HeadRotation> rotation_;  // empty: attention reads qkv as it is
  std::optional<Activations> activation_functions_;
  std::optional<Linear> linear_;
  std::optional<Fp8Linear> fp8_linear_;  // empty: all products are of the plan's type
  std::optional<LowRank> low_rank_;
  std::unique_ptr<Attention> attention_;
  std::optional<CrossEntropy> cross_entropy_;
  DeviceBatches batches_, held_back_;
  Buffer frozen_;               // weights beside adapters, laid out as parameters_
  bool has_frozen_ = false;     // whether they are written
  Buffer own_active_, floats_;  // arenas of TrainingActivations
  void* active_ = nullptr;      // own_active_, or the arena that ends with the gradients
  Buffer codes_, scales_;       // of Fp8Layout
  Buffer losses_;               // f32 [tokens]
  Buffer document_starts_;      // i32 [tokens], of the batch of this pass
  Buffer scratch_;
  const void* lookups_ = nullptr;  // of all ranks, during the pass that gathers them
};

}  // namespace assay
