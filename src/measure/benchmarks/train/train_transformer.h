// Says what the training of transformers has in common, whatever its data: their plan, memory and
// costs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/benchmarks/train/train_model.h"

namespace assay {

class TrainTransformer : public TrainModel {
 public:
  const TrainingSettings& settings() const override { return settings_; }
  void set_seed(std::uint64_t seed) override { settings_.seed = seed; }
  void set_stop_requested(std::function<bool()> stop_requested) override {
    settings_.stop_requested = std::move(stop_requested);
  }
  const ParameterPlan& plan_of_parameters() const override { return plan(); }
  std::vector<Section> sections() const override { return plan().sections(); }
  void set_bucket(std::uint64_t bytes) override { settings_.plan.parallel.bucket_bytes = bytes; }
  double parameters() const override { return plan().shape.parameters(); }
  Work work() const override;
  Quantity quantity() const override { return Quantity::token_rate; }
  double samples() const override;
  std::vector<OperationCost> costs() const override;
  TrainingMemory memory() const override { return memory_of(plan()); }
  std::int64_t largest_batch(std::uint64_t bytes) const override {
    return assay::largest_batch(plan(), bytes);
  }
  std::string what_would_fit(std::uint64_t bytes) const override {
    return assay::what_would_fit(plan(), bytes);
  }
  std::optional<std::string> unsupported(const DeviceFacts& facts) const override;
  /// The loss when all tokens are equally likely.
  double untrained_loss() const override;
  Result<GateResult> check(Device& device, Stream& stream) const override;

 protected:
  explicit TrainTransformer(TransformerSettings settings) : settings_(std::move(settings)) {}

  const TransformerPlan& plan() const { return settings_.plan; }
  double ranks() const { return plan().parallel.all_ranks(); }
  /// The tokens of all passes of one step, on one rank.
  double tokens() const;
  /// The mean number of tokens that a token attends to.
  virtual double keys() const;

  TransformerSettings settings_;
};

}  // namespace assay
