// Training a GPT on one device: forward, backward and update as a sequence of operations on arenas
// that are laid out before the start. A step asks the host for nothing, so one captured graph
// replays it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compute/blas/gemm_plans.h"
#include "compute/device/device.h"
#include "model/gpt_layout.h"
#include "model/operation_clock.h"
#include "model/operations/adamw.h"
#include "model/operations/attention.h"
#include "model/operations/cross_entropy.h"
#include "model/operations/embedding.h"
#include "model/operations/gelu.h"
#include "model/operations/layer_norm.h"
#include "model/operations/linear.h"
#include "model/token_batches.h"

namespace assay {

struct TrainingSettings {
  TrainingPlan plan;
  DataType precision = DataType::bf16;  ///< f32, tf32 or bf16; f32 and tf32 share the type f32
  std::int64_t accumulate = 1;          ///< passes whose gradients make one update
  UpdateSettings update = {0.9f, 0.999f, 1e-8f, 0.01f, 1.0f};  ///< Adam's, and clipping at 1
  std::vector<float> rates = {1e-3f};  ///< learning rate of each step, the last from then on
  std::uint64_t seed = 1;              ///< of initial weights and stochastic rounding
  bool measured_products = true;       ///< whether algorithms of matrix products are measured
  /// Whether products' epilogues compute the GELU, where a library has such; empty: where they are
  /// faster.
  std::optional<bool> fuse_gelu;
};

/// Rising from 0 to `peak` over `warmup` steps, then falling along a cosine to a tenth of it at
/// `steps` (Loshchilov & Hutter 2017, as nanoGPT does).
std::vector<float> warmup_and_cosine(float peak, std::int64_t warmup, std::int64_t steps);

class GptTraining {
 public:
  /// Allocates everything, writes initial weights and uploads the batches. `device` and `stream`
  /// must outlive it. Error: exhausted, naming the bytes and what would fit; usage if the batches
  /// do not belong to the plan.
  static Result<std::unique_ptr<GptTraining>> create(Device& device, Stream& stream,
                                                     TrainingSettings settings,
                                                     const TokenBatches& batches);

  /// Queues one step. The first one chooses and compiles what it needs, and so must not be
  /// captured. `clock`, unless null, marks the end of each operation.
  Status step(Stream& stream, OperationClock* clock = nullptr);
  /// Whether there are epilogues for TrainingSettings::fuse_gelu to choose.
  bool can_fuse_gelu();
  /// The passes of a step without its update, which leave gradients.
  Status pass(Stream& stream, std::uint64_t number);

  /// Mean losses of steps first ... first + count of those the device still remembers.
  Result<std::vector<float>> losses(Stream& stream, std::uint64_t first, std::uint64_t count);
  Result<StepState> state(Stream& stream);
  Status set_state(Stream& stream, const StepState& state);
  /// Where weights, moments and gradients lie on the device.
  UpdateArenas arenas() const;
  /// As many steps' losses are remembered.
  static constexpr std::int64_t remembered_losses = 1 << 16;

  const TrainingSettings& settings() const { return settings_; }
  const GptParameters& parameters() const { return parameters_; }
  /// All weights or gradients as f32, laid out as parameters() says.
  Result<std::vector<float>> weights(Stream& stream) { return read(stream, weights_); }
  Result<std::vector<float>> gradients(Stream& stream) { return read(stream, gradients_); }
  /// Replaces all weights and begins anew: step 0, moments 0.
  Status restart(Stream& stream, const std::vector<float>& weights);
  /// What computes matrix products, known after the first step.
  std::string product_libraries() const { return plans_.libraries(); }
  /// "own", "library (cuDNN 9.19.0)": how attention is computed, and by what.
  std::string attention_way() const;
  /// Bytes allocated on the device.
  std::uint64_t allocated_bytes() const;

 private:
  GptTraining(Device& device, Stream& stream, TrainingSettings settings);
  Status allocate();
  Status load_operations();
  Status initialize(Stream& stream);
  Status begin(Stream& stream);
  Result<std::vector<float>> read(Stream& stream, const Buffer& arena);

  /// Marks the end of an operation that has been queued.
  Status timed(Stream& stream, Phase phase, std::string_view name, Status queued);

  Status forward(Stream& stream, BatchChoice choice);
  Status forward_layer(Stream& stream, Phase phase, std::size_t layer, void* stream_in,
                       void* branch_in);
  Status leave_branch(Stream& stream, std::size_t layer);
  Status backward(Stream& stream, BatchChoice choice);
  Status backward_layer(Stream& stream, std::size_t layer, bool add);

  AttentionMemory attention_memory(const GptLayerActivations& a) const;
  AttentionShape attention_shape() const {
    return {plan_.batch, plan_.sequence, plan_.shape.heads, plan_.shape.head_width()};
  }
  void* weight(const Tensor& t) const { return address_of(weights_, t, element_); }
  void* weight_or_null(const Tensor& t) const { return t.elements() > 0 ? weight(t) : nullptr; }
  void* gradient(const Tensor& t) const { return address_of(gradients_, t, element_); }
  void* gradient_or_null(const Tensor& t) const { return t.elements() > 0 ? gradient(t) : nullptr; }
  void* active(const Tensor& t) const { return address_of(active_, t, element_); }
  void* statistic(const Tensor& t) const { return address_of(floats_, t, sizeof(float)); }

  Device& device_;
  TrainingSettings settings_;
  const TrainingPlan& plan_ = settings_.plan;
  const GptParameters parameters_;
  const GptActivations activations_;
  const std::size_t element_;        // bytes of a parameter or activation
  OperationClock* clock_ = nullptr;  // during a step that is timed
  GemmPlans plans_;
  std::unique_ptr<Embedding> embedding_;
  std::unique_ptr<ColumnSums> column_sums_;
  std::unique_ptr<LayerNorm> norm_;
  std::unique_ptr<Linear> linear_;
  std::unique_ptr<Gelu> gelu_;
  std::unique_ptr<Attention> attention_;
  std::unique_ptr<CrossEntropy> cross_entropy_;
  std::unique_ptr<AdamWUpdate> update_;
  DeviceBatches batches_;
  Buffer weights_, gradients_, master_, first_, second_;  // arenas of GptParameters
  Buffer active_, floats_;                                // arenas of GptActivations
  Buffer losses_;                                         // f32 [tokens]
  Buffer history_;                                        // f32 [remembered_losses]
  Buffer scratch_, state_;
};

}  // namespace assay
