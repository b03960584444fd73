#include "model/training/training_self_check.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "model/transformer/lora_oracle.h"
#include "model/transformer/transformer_oracle.h"

namespace assay {
namespace {

/// Small, and awkward: nothing but heads and rows is a multiple of anything.
TransformerSettings small_version_of(const TransformerSettings& settings,
                                     const DeviceFacts& facts) {
  TransformerSettings small = settings;
  TransformerPlan& plan = small.plan;
  plan.parallel = {};  // each rank checks its own device
  constexpr std::int64_t few_rows = 16;
  if (plan.cuts_logits()) plan.head_rows = few_rows;
  const std::int64_t head_width = std::min<std::int64_t>(plan.shape.head_width, 128);
  plan.shape.layers = 2;
  // Two heads of keys, if those are fewer than the others.
  const std::int64_t group = std::min<std::int64_t>(plan.shape.heads / plan.shape.kv_heads, 4);
  plan.shape.kv_heads = 2;
  plan.shape.heads = 2 * group;
  plan.shape.head_width = head_width;
  plan.shape.width = 2 * head_width;
  plan.shape.hidden = 2 * head_width + 8;
  plan.shape.vocabulary = 101;
  // Attention by tiles needs several tiles of keys, the last one not full.
  const bool tiles = plan.attention != AttentionWay::plain;
  plan.shape.positions = plan.sequence = !tiles ? 19 : facts.emulated ? 70 : 150;
  plan.batch = 2;
  if (plan.fp8) {  // sizes are multiples of 16
    plan.shape.hidden = 2 * head_width + 16;
    plan.shape.positions = plan.sequence = (plan.sequence + 7) / 8 * 8;
  }
  small.weights.clear();
  constexpr std::int64_t most_ranks = 8;
  if (plan.lora) {
    const double scale = plan.lora->scale();
    plan.lora->rank = std::min(plan.lora->rank, most_ranks);
    plan.lora->alpha = scale * static_cast<double>(plan.lora->rank);
  }
  // A library that only takes whole tiles gets whole ones.
  if (is_by_library(plan.attention) &&
      fused_attention_unsupported(fused_attention_of(plan), facts)) {
    plan.shape.positions = plan.sequence = 256;
  }
  plan.one_pass = false;
  small.accumulate = 2;  // both of one batch: the gradients of one pass, half of them added
  small.measured_products = false;
  small.loss_scaling.initial = gate_loss_scale;
  return small;
}

/// Cuts each sequence into documents of one token, of a few, and of more than a tile, and ignores
/// some targets.
void cut_into_documents(TokenBatches& data, std::int64_t sequence) {
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i) % sequence;
    std::int64_t start = 0;
    for (const std::int64_t begin : {std::int64_t{1}, sequence / 8, sequence / 3}) {
      if (place >= begin) start = begin;
    }
    data.document_starts.push_back(static_cast<std::int32_t>(start));
    if (place % 5 == 0) data.targets[i] = ignored_target;
  }
}

/// Gives B, which begins as 0, numbers, so that every gradient matters.
Status randomize_adapters(TransformerTraining& training, Stream& stream, std::uint64_t seed) {
  std::vector<float> adapters = TRY(training.weights(stream));
  Random random(seed);
  for (const NamedTensor& named : training.tensors()) {
    const auto first = adapters.begin() + static_cast<std::ptrdiff_t>(named.tensor.offset);
    std::for_each(first, first + named.tensor.elements(), [&](float& x) {
      if (x == 0) x = static_cast<float>(0.05 * random.normal());
    });
  }
  return training.restart(stream, adapters);
}

struct TrainingReference {
  double loss = 0;
  std::vector<double> gradients;  ///< of the trained parameters
};

Result<TrainingReference> reference_of(TransformerTraining& training, Stream& stream,
                                       const TransformerPlan& plan, const TokenBatches& data) {
  const auto doubles = [](const std::vector<float>& numbers) {
    return std::vector<double>(numbers.begin(), numbers.end());
  };
  const std::vector<double> trained = doubles(TRY(training.weights(stream)));
  const TransformerParameters layout = TransformerParameters::of(plan.shape);
  std::vector<double> weights = trained;
  if (plan.lora) {
    weights = merged_weights(doubles(TRY(training.frozen_weights(stream))), layout, trained,
                             plan.adapters());
  }
  TransformerOracle oracle(plan.shape, std::move(weights));
  TrainingReference reference;
  reference.loss = oracle.forward(data.tokens, data.targets, plan.sequence, data.document_starts);
  oracle.backward();
  reference.gradients =
      plan.lora ? adapter_gradients(oracle.gradients(), layout, trained, plan.adapters())
                : oracle.gradients();
  return reference;
}

}  // namespace

Result<GateResult> check_training(Device& device, Stream& stream,
                                  const TransformerSettings& settings) {
  TransformerSettings small = small_version_of(settings, device.facts());
  const TransformerPlan plan = small.plan;
  const TokenStream text =
      synthetic_tokens(static_cast<std::int32_t>(plan.shape.vocabulary), 1024, settings.seed);
  TokenBatches data = TRY(cut_batches(text, 1, plan.batch, plan.sequence, settings.seed));
  if (plan.documents) cut_into_documents(data, plan.sequence);
  small.fuse_gelu = false;
  auto training = TRY(TransformerTraining::create(device, stream, small, data));
  if (plan.lora) TRY(randomize_adapters(*training, stream, settings.seed));
  const TrainingReference reference = TRY(reference_of(*training, stream, plan, data));
  GateResult result;
  TRY(compare_gradients(*training, stream, reference.gradients, reference.loss, result));
  if (training->can_fuse_gelu()) {  // which way is faster for the real sizes is not known yet
    small.fuse_gelu = true;
    training = TRY(TransformerTraining::create(device, stream, small, data));
    TRY(compare_gradients(*training, stream, reference.gradients, reference.loss, result));
  }
  judge(result, plan.fp8 ? DataType::e4m3 : settings.precision, Smoothness::smooth);
  return result;
}

}  // namespace assay
