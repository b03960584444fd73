#include <fmt/format.h>

#include <cmath>

#include "measure/benchmarks/train/train_model.h"
#include "model/training/training_attention.h"
#include "model/training/training_costs.h"
#include "model/training/training_self_check.h"

namespace assay {
namespace {

constexpr std::int64_t token_batches = 64;  // the batches repeat in this cycle
constexpr std::int64_t token_batches_held_back = 4;

double number(std::int64_t x) {
  return static_cast<double>(x);
}

class TrainGpt final : public TrainModel {
 public:
  TrainGpt(TransformerSettings settings, TokenSource source)
      : settings_(std::move(settings)), source_(std::move(source)) {}

  const TrainingSettings& settings() const override { return settings_; }
  void set_seed(std::uint64_t seed) override { settings_.seed = seed; }
  void set_stop_requested(std::function<bool()> stop_requested) override {
    settings_.stop_requested = std::move(stop_requested);
  }
  const ParameterPlan& plan_of_parameters() const override { return plan(); }
  std::vector<Section> sections() const override { return plan().sections(); }
  void set_bucket(std::uint64_t bytes) override { settings_.plan.parallel.bucket_bytes = bytes; }
  double parameters() const override { return plan().shape.parameters(); }
  Work work() const override {
    const TransformerShape& shape = plan().shape;
    return {.flops =
                flops_by_parameters() + tokens() * shape.attention_flops_per_token(plan().sequence),
            .math = settings_.precision,
            .tokens = tokens() * ranks(),
            .ranks = ranks()};
  }
  double flops_by_parameters() const override {
    return tokens() * plan().shape.training_flops_per_token();
  }
  Quantity quantity() const override { return Quantity::token_rate; }
  double samples() const override { return number(plan().batch * settings_.accumulate) * ranks(); }
  std::vector<OperationCost> costs() const override {
    return costs_of(plan(), settings_.accumulate);
  }
  TrainingMemory memory() const override { return memory_of(plan()); }
  std::int64_t largest_batch(std::uint64_t bytes) const override {
    return assay::largest_batch(plan(), bytes);
  }
  std::string what_would_fit(std::uint64_t bytes) const override {
    return assay::what_would_fit(plan(), bytes);
  }
  std::optional<std::string> unsupported(const DeviceFacts& facts) const override {
    const auto reason = attention_unsupported(plan(), settings_.precision, facts);
    if (!reason) return std::nullopt;
    return fmt::format("attention={}: {}", name_of(plan().attention), *reason);
  }
  /// The loss when all tokens are equally likely.
  double untrained_loss() const override { return std::log(number(plan().shape.vocabulary)); }

  Result<GateResult> check(Device& device, Stream& stream) const override {
    return check_training(device, stream, settings_);
  }
  Result<std::unique_ptr<Training>> create(Device& device, Stream& stream,
                                           TrainingRanks ranks) const override {
    TransformerSettings settings = settings_;
    settings.ranks = ranks;
    const SplitTokens text = TRY(tokens_of_source());
    const auto cut = [&](const TokenStream& from, std::int64_t batches) {
      return cut_batches(from, batches * source_.batch_cuts, plan().batch, plan().sequence,
                         settings_.seed);
    };
    const TokenBatches batches = TRY(cut(text.training, token_batches));
    TokenBatches held_back;
    if (!text.held_back.tokens.empty()) {
      held_back = TRY(cut(text.held_back, token_batches_held_back));
    }
    auto made = TRY(TransformerTraining::create(device, stream, settings, batches, held_back));
    return std::unique_ptr<Training>(std::move(made));
  }

 private:
  const TransformerPlan& plan() const { return settings_.plan; }
  double ranks() const { return plan().parallel.all_ranks(); }
  /// The tokens of all passes of one step, on one rank.
  double tokens() const { return number(plan().tokens() * settings_.accumulate); }

  Result<SplitTokens> tokens_of_source() const {
    const auto vocabulary = static_cast<std::int32_t>(plan().shape.vocabulary);
    const std::int64_t least = plan().sequence + 1;
    if (source_.data != "synthetic") {
      return hold_back(TRY(read_tokens(source_.data, source_.bytes_per_token, vocabulary)), least);
    }
    const auto needed = static_cast<std::size_t>(plan().tokens() * source_.batch_cuts * 4 + 1);
    return hold_back(
        synthetic_tokens(vocabulary, std::max<std::size_t>(needed, 1 << 18), settings_.seed),
        least);
  }

  TransformerSettings settings_;
  TokenSource source_;
};

}  // namespace

std::unique_ptr<TrainModel> train_gpt(TransformerSettings settings, TokenSource source) {
  return std::make_unique<TrainGpt>(std::move(settings), std::move(source));
}

}  // namespace assay
