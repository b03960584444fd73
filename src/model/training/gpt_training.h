// Training a GPT: forward and backward pass as a sequence of operations on arenas
// that are laid out before the start.
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
#include "model/operations/layer_norm.h"
#include "model/operations/linear.h"
#include "model/training/training.h"
#include "model/transformer/gpt_layout.h"

namespace assay {

struct GptSettings : TrainingSettings {
  GptPlan plan;
  /// Whether products' epilogues compute the GELU, where a library has such; empty: where they are
  /// faster.
  std::optional<bool> fuse_gelu;
};

class GptTraining final : public Training {
 public:
  /// Allocates everything, writes initial weights and uploads the batches. No step trains on those
  /// held back. `device` and `stream` must outlive it. Error: exhausted, naming the bytes and what
  /// would fit; usage if the batches do not belong to the plan.
  static Result<std::unique_ptr<GptTraining>> create(Device& device, Stream& stream,
                                                     const GptSettings& settings,
                                                     const TokenBatches& batches,
                                                     const TokenBatches& held_back = {});

  Status pass(Stream& stream, std::uint64_t number) override;
  /// Whether there are epilogues for GptSettings::fuse_gelu to choose.
  bool can_fuse_gelu();
  /// Beside products "attention": "own", "library (cuDNN 9.19.0)".
  std::vector<std::pair<std::string, std::string>> notes() const override;
  std::uint64_t allocated_bytes() const override;

 private:
  GptTraining(Device& device, Stream& stream, const GptSettings& settings);
  Status allocate_arenas(Stream& stream);
  Status load_operations();
  Status write_initial_weights(Stream& stream) override;

  std::int64_t held_back_batches() const override { return held_back_.batches; }
  Result<Losses> held_back_pass(Stream& stream, BatchChoice choice) override;

  /// Leaves a loss of each token in losses_.
  Status forward(Stream& stream, const DeviceBatches& data, BatchChoice choice);
  Status forward_layer(Stream& stream, Phase phase, std::size_t layer, void* stream_in,
                       void* branch_in);
  Status leave_branch(Stream& stream, std::size_t layer);
  Status backward(Stream& stream, BatchChoice choice, std::uint64_t number);
  Status add_lookups(Stream& stream, std::uint64_t number, const std::byte* rows);
  Status backward_layer(Stream& stream, std::size_t layer, bool add);
  Status weight_gradient_of_qkv(Stream& stream, std::size_t layer, bool add);

  // Of GptParameters::sections.
  static constexpr std::size_t embeddings = 0;
  static std::size_t section_of(std::size_t layer) { return layer + 1; }

  Losses losses_of_tokens() const { return {losses_.data(), plan_.tokens()}; }
  AttentionMemory attention_memory(const GptLayerActivations& a) const;
  AttentionShape attention_shape() const {
    return {plan_.batch, plan_.sequence, plan_.shape.heads, plan_.shape.head_width()};
  }
  void* active(const Tensor& t) const { return address_of(active_, t, element_); }
  void* statistic(const Tensor& t) const { return address_of(floats_, t, sizeof(float)); }

  const GptPlan plan_;
  const std::optional<bool> fuse_gelu_;
  const GptParameters parameters_;
  const GptActivations activations_;
  std::optional<Embedding> embedding_;
  std::optional<ColumnSums> column_sums_;
  std::optional<LayerNorm> norm_;
  std::optional<Activations> activation_functions_;
  std::optional<Linear> linear_;
  std::unique_ptr<Attention> attention_;
  std::optional<CrossEntropy> cross_entropy_;
  DeviceBatches batches_, held_back_;
  Buffer active_, floats_;  // arenas of GptActivations
  Buffer losses_;           // f32 [tokens]
  Buffer scratch_;
};

}  // namespace assay
