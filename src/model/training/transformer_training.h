// Training a transformer: its forward and backward pass as a sequence of operations on arenas that
// are laid out before the start.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "compute/device/device.h"
#include "model/data/token_batches.h"
#include "model/operations/activations.h"
#include "model/operations/attention.h"
#include "model/operations/cross_entropy.h"
#include "model/operations/embedding.h"
#include "model/operations/head_rotation.h"
#include "model/operations/linear.h"
#include "model/operations/norm.h"
#include "model/training/training.h"
#include "model/training/training_plan.h"

namespace assay {

struct TransformerSettings : TrainingSettings {
  TransformerPlan plan;
  /// Whether products' epilogues compute the GELU, where a library has such; empty: where they are
  /// faster.
  std::optional<bool> fuse_gelu;
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
  /// Whether there are epilogues for TransformerSettings::fuse_gelu to choose.
  bool can_fuse_gelu();
  /// Beside products "attention": "own", "library (cuDNN 9.19.0)".
  std::vector<std::pair<std::string, std::string>> notes() const override;
  std::uint64_t allocated_bytes() const override;

 private:
  TransformerTraining(Device& device, Stream& stream, const TransformerSettings& settings);
  Status allocate_arenas(Stream& stream);
  Status load_operations(Stream& stream);
  Status write_initial_weights(Stream& stream) override;

  std::int64_t held_back_batches() const override { return held_back_.batches; }
  Result<Losses> held_back_pass(Stream& stream, BatchChoice choice) override;

  /// Leaves a loss of each token in losses_.
  Status forward(Stream& stream, const DeviceBatches& data, BatchChoice choice);
  Status forward_layer(Stream& stream, Phase phase, std::size_t layer, void* stream_in,
                       void* branch_in);
  Status rotate(Stream& stream, Phase phase, std::size_t layer);
  Status activate(Stream& stream, Phase phase, std::size_t layer);
  Status leave_branch(Stream& stream, std::size_t layer);
  Status backward(Stream& stream, BatchChoice choice, std::uint64_t number);
  Status backward_head(Stream& stream, std::uint64_t number);
  Status backward_last_norm(Stream& stream, bool add);
  Status backward_perceptron(Stream& stream, std::size_t layer, bool add);
  Status backward_attention(Stream& stream, std::size_t layer, bool add);
  Status bias_gradient(Stream& stream, const Tensor& bias, const void* dy, bool add);
  Status weight_gradient_of_qkv(Stream& stream, std::size_t layer, bool add);
  Status backward_embedding(Stream& stream, BatchChoice choice, std::uint64_t number);
  Status send_embedding_without_lookups(Stream& stream, std::uint64_t number);
  Status send_lookups(Stream& stream, std::uint64_t number);
  Status add_lookups(Stream& stream, std::uint64_t number);
  Status clear_gradient(Stream& stream, const Tensor& tensor);

  // Indices of TransformerParameters::sections.
  static constexpr std::size_t embeddings = 0;
  static std::size_t section_of(std::size_t layer) { return layer + 1; }
  std::size_t head_section() const {
    return parameters_.tied ? embeddings : section_of(parameters_.layers.size());
  }

  Losses losses_of_tokens() const { return {losses_.data(), plan_.tokens()}; }
  AttentionMemory attention_memory(const LayerActivations& a) const;
  AttentionShape attention_shape() const { return attention_shape_of(plan_); }
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
  void* active(const Tensor& t) const { return address_of(active_, t, element_); }
  void* statistic(const Tensor& t) const { return address_of(floats_, t, sizeof(float)); }

  const TransformerPlan plan_;
  const std::optional<bool> fuse_gelu_;
  const TransformerParameters parameters_;
  const TrainingActivations activations_;
  std::optional<Embedding> embedding_;
  std::optional<ColumnSums> column_sums_;
  std::optional<Norm> norm_;
  std::optional<HeadRotation> rotation_;  // empty: attention reads qkv as it is
  std::optional<Activations> activation_functions_;
  std::optional<Linear> linear_;
  std::unique_ptr<Attention> attention_;
  std::optional<CrossEntropy> cross_entropy_;
  DeviceBatches batches_, held_back_;
  Buffer active_, floats_;  // arenas of TrainingActivations
  Buffer losses_;           // f32 [tokens]
  Buffer scratch_;
  const void* lookups_ = nullptr;  // of all ranks, during the pass that gathers them
};

}  // namespace assay
