// The interface between the train benchmark and a model: the work of a step, the memory it needs,
// and how its training is created and checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "measure/grid/benchmark.h"
#include "model/operations/operation_cost.h"
#include "model/perceptron/mlp_training.h"
#include "model/training/gradient_self_check.h"
#include "model/training/training.h"
#include "model/training/transformer_training.h"

namespace assay {

class TrainModel {
 public:
  virtual ~TrainModel() = default;

  virtual const TrainingSettings& settings() const = 0;
  /// The seed of initial weights, stochastic rounding and synthetic data.
  virtual void set_seed(std::uint64_t seed) = 0;
  /// Passes the stop request to the trainings that create() makes.
  virtual void set_stop_requested(std::function<bool()> stop_requested) = 0;
  virtual const ParameterPlan& plan_of_parameters() const = 0;
  const ParallelPlan& parallel() const { return plan_of_parameters().parallel; }
  /// The sections of the parameters (consecutive parts that are used one after another), as
  /// ParameterArenas lays them out for the plan's ranks.
  virtual std::vector<Section> sections() const = 0;
  /// Sets the bucket size: the least bytes of gradients that ranks send at once.
  virtual void set_bucket(std::uint64_t bytes) = 0;
  virtual double parameters() const = 0;  ///< their number
  /// The work of one step; its FLOPs are those of one rank. flops_by_parameters() is the usual
  /// estimate of 6 FLOPs for each parameter and each token or sample.
  virtual Work work() const = 0;
  virtual double flops_by_parameters() const = 0;
  /// How many of the FLOPs of work() are products of FP8.
  virtual double fp8_flops() const { return 0; }
  virtual Quantity quantity() const = 0;
  /// Sequences or samples in one step, summed over all ranks.
  virtual double samples() const = 0;
  virtual std::vector<OperationCost> costs() const = 0;  ///< of the operations of a step
  virtual TrainingMemory memory() const = 0;             ///< that one rank needs
  /// The largest batch whose memory() is at most `bytes`; 0 if none is.
  virtual std::int64_t largest_batch(std::uint64_t bytes) const = 0;
  /// "batch=3 would fit", or what else would, if memory() is more than `bytes`.
  virtual std::string what_would_fit(std::uint64_t bytes) const = 0;
  /// Returns why the device cannot train the model, apart from lack of memory; empty if it can.
  virtual std::optional<std::string> unsupported(const DeviceFacts& facts) const = 0;
  /// The expected loss before the first step.
  virtual double untrained_loss() const = 0;
  /// Returns whether the weights are trained ones, whose loss need not fall further.
  virtual bool begins_trained() const { return false; }
  /// What is reported of a step of `seconds` beside what all models report.
  virtual std::vector<Metric> more_metrics(double /*seconds*/) const { return {}; }
  /// The steps that the data asks for, known after create(); empty: as many as the cell says.
  virtual std::optional<std::size_t> steps_of_data() const { return std::nullopt; }
  /// Returns whether the data asks for a number of steps.
  virtual bool ends_with_data() const { return false; }
  /// Returns whether adapters are trained beside frozen parameters.
  virtual bool trains_adapters() const { return false; }
  /// Names and texts of notes for the record about the data, after create().
  virtual std::vector<std::pair<std::string, std::string>> notes() const { return {}; }
  /// About how many bytes write_weights() writes.
  virtual double output_bytes() const { return 0; }
  /// Checks whether write_weights() could write to `folder`, before the training, which may take
  /// hours. Error: as check_output() in model/training/weight_files.h.
  virtual Status check_output(const std::string& /*folder*/) const { return {}; }
  /// Writes what was learnt as other programs read it. All ranks call it together. Error: that of
  /// the files or the device.
  virtual Status write_weights(Training&, Stream&, const std::string& /*folder*/) const {
    return {};
  }

  /// Compares gradients and loss of a small model of this kind with a reference in double
  /// precision.
  virtual Result<GateResult> check(Device& device, Stream& stream) const = 0;
  /// Creates a training with its data. Error: as read_operand() (core/read_file.h); usage, for data
  /// that do not fit the model; that of the device's calls.
  virtual Result<std::unique_ptr<Training>> create(Device& device, Stream& stream,
                                                   TrainingRanks ranks) const = 0;
};

/// The loss at the end of a run: the median of the last quarter of `losses`, or of the last three
/// if that is more; `losses` has at least one. A median is used because large models have single
/// steps with twice the loss soon after their start.
double loss_at_end(std::span<const float> losses);

/// The source of a GPT's training tokens.
struct TokenSource {
  std::string data;         ///< "synthetic" or a file
  int bytes_per_token = 1;  ///< bytes of a token in the file
  /// Each batch is one of `batch_cuts` parts of a larger batch, so that together the parts train on
  /// the same tokens (strong scaling).
  std::int64_t batch_cuts = 1;
};

std::unique_ptr<TrainModel> train_gpt(TransformerSettings settings, TokenSource source);
/// `batch_cuts` has the meaning of TokenSource::batch_cuts.
std::unique_ptr<TrainModel> train_mlp(MlpSettings settings, std::int64_t batch_cuts);

}  // namespace assay
