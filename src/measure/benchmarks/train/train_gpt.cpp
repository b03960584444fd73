#include "measure/benchmarks/train/train_transformer.h"

namespace assay {
namespace {

constexpr std::int64_t token_batches = 64;  // the batches repeat in this cycle
constexpr std::int64_t token_batches_held_back = 4;

class TrainGpt final : public TrainTransformer {
 public:
  TrainGpt(TransformerSettings settings, TokenSource source)
      : TrainTransformer(std::move(settings)), source_(std::move(source)) {}

  double flops_by_parameters() const override {
    return tokens() * plan().shape.training_flops_per_token();
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

  TokenSource source_;
};

}  // namespace

std::unique_ptr<TrainModel> train_gpt(TransformerSettings settings, TokenSource source) {
  return std::make_unique<TrainGpt>(std::move(settings), std::move(source));
}

}  // namespace assay
