// A model as the train benchmark sees it: what it counts, what memory it needs, and how its
// training is made and checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "measure/grid/benchmark.h"
#include "model/gpt_training.h"
#include "model/gradient_self_check.h"
#include "model/mlp_training.h"
#include "model/operation_cost.h"
#include "model/training.h"

namespace assay {

class TrainModel {
 public:
  virtual ~TrainModel() = default;

  virtual const TrainingSettings& settings() const = 0;
  /// Of initial weights, stochastic rounding and synthetic data.
  virtual void set_seed(std::uint64_t seed) = 0;
  /// Of what create() makes.
  virtual void set_stop_requested(std::function<bool()> stop_requested) = 0;
  virtual const ParameterPlan& plan_of_parameters() const = 0;
  const ParallelPlan& parallel() const { return plan_of_parameters().parallel; }
  /// As ParameterArenas lays them out for the plan's ranks.
  virtual std::vector<Section> sections() const = 0;
  /// Least bytes of gradients that ranks send at once.
  virtual void set_bucket(std::uint64_t bytes) = 0;
  virtual double parameters() const = 0;
  /// The work of a step, its operations those of one rank, and the part of its operations that
  /// parameters are said to cost: 6 for each and each token or sample.
  virtual Work work() const = 0;
  virtual double flops_by_parameters() const = 0;
  virtual Quantity quantity() const = 0;
  /// Sequences or samples of a step, on all ranks.
  virtual double samples() const = 0;
  virtual std::vector<OperationCost> costs() const = 0;
  virtual TrainingMemory memory() const = 0;
  virtual std::int64_t largest_batch(std::uint64_t bytes) const = 0;
  virtual std::string what_would_fit(std::uint64_t bytes) const = 0;
  /// Why the device cannot train it, for other reasons than its memory; empty: it can.
  virtual std::optional<std::string> unsupported(const DeviceFacts& facts) const = 0;
  /// What the loss is expected to be before the first step.
  virtual double untrained_loss() const = 0;

  virtual Result<GateResult> check(Device& device, Stream& stream) const = 0;
  /// With data of its own, `batches` of them in turn. Error: usage if a file cannot be read.
  virtual Result<std::unique_ptr<Training>> create(Device& device, Stream& stream,
                                                   TrainingRanks ranks) const = 0;
};

/// The loss at the end of a run, of its steps' `losses`, at least one: the median of the last
/// quarter, or of three steps. Large models have single steps with twice the loss soon after their
/// start, which say nothing about the end.
double loss_at_end(std::span<const float> losses);

/// Where a GPT's tokens come from.
struct TokenSource {
  std::string data;         ///< "synthetic" or a file
  int bytes_per_token = 1;  ///< of the file
  /// Batches are parts of such that are so many times as large, and train on the same tokens.
  std::int64_t batch_cuts = 1;
};

std::unique_ptr<TrainModel> train_gpt(GptSettings settings, TokenSource source);
/// `batch_cuts`: as TokenSource's.
std::unique_ptr<TrainModel> train_mlp(MlpSettings settings, std::int64_t batch_cuts);

}  // namespace assay
