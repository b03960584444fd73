#include "measure/benchmarks/train/train_model.h"
#include "model/perceptron/mlp_self_check.h"

namespace assay {
namespace {

constexpr std::int64_t regression_batches = 8;  // the batches repeat in this cycle
constexpr std::int64_t regression_batches_held_back = 1;

class TrainMlp final : public TrainModel {
 public:
  TrainMlp(MlpSettings settings, std::int64_t batch_cuts)
      : settings_(std::move(settings)), batch_cuts_(batch_cuts) {}

  const TrainingSettings& settings() const override { return settings_; }
  void set_seed(std::uint64_t seed) override { settings_.seed = seed; }
  void set_stop_requested(std::function<bool()> stop_requested) override {
    settings_.stop_requested = std::move(stop_requested);
  }
  const ParameterPlan& plan_of_parameters() const override { return plan(); }
  std::vector<Section> sections() const override {
    return MlpParameters::of(plan().shape, plan().parallel.ranks).sections;
  }
  void set_bucket(std::uint64_t bytes) override { settings_.plan.parallel.bucket_bytes = bytes; }
  double parameters() const override { return plan().shape.parameters(); }
  Work work() const override {
    return {.flops = own_samples() * plan().shape.flops_per_sample(),
            .math = settings_.precision,
            .samples = samples(),
            .ranks = static_cast<double>(plan().parallel.all_ranks())};
  }
  double flops_by_parameters() const override { return own_samples() * 6 * parameters(); }
  Quantity quantity() const override { return Quantity::sample_rate; }
  double samples() const override { return own_samples() * plan().parallel.all_ranks(); }
  std::vector<OperationCost> costs() const override { return costs_of(plan()); }
  TrainingMemory memory() const override { return memory_of(plan()); }
  std::int64_t largest_batch(std::uint64_t bytes) const override {
    return assay::largest_batch(plan(), bytes);
  }
  std::string what_would_fit(std::uint64_t bytes) const override {
    return assay::what_would_fit(plan(), bytes);
  }
  std::optional<std::string> unsupported(const DeviceFacts&) const override { return std::nullopt; }
  /// The sum of the variance of the targets, 1, and that of the outputs with initial weights, 2 (He
  /// et al. 2015).
  double untrained_loss() const override { return 3; }

  Result<GateResult> check(Device& device, Stream& stream) const override {
    return check_training(device, stream, settings_);
  }
  Result<std::unique_ptr<Training>> create(Device& device, Stream& stream,
                                           TrainingRanks ranks) const override {
    MlpSettings settings = settings_;
    settings.ranks = ranks;
    const std::vector<std::int64_t>& widths = plan().shape.widths;
    RegressionBatches batches =
        synthetic_regression((regression_batches + regression_batches_held_back) * batch_cuts_,
                             plan().batch, widths.front(), widths.back(), settings_.seed);
    const RegressionBatches held_back =
        batches.split_off(regression_batches_held_back * batch_cuts_);
    auto made = TRY(MlpTraining::create(device, stream, settings, batches, held_back));
    return std::unique_ptr<Training>(std::move(made));
  }

 private:
  /// The samples of one step on one rank.
  double own_samples() const { return static_cast<double>(plan().batch * settings_.accumulate); }
  const MlpPlan& plan() const { return settings_.plan; }

  MlpSettings settings_;
  std::int64_t batch_cuts_;
};

}  // namespace

std::unique_ptr<TrainModel> train_mlp(MlpSettings settings, std::int64_t batch_cuts) {
  return std::make_unique<TrainMlp>(std::move(settings), batch_cuts);
}

}  // namespace assay
