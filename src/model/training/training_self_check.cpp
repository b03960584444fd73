#include "model/training/training_self_check.h"

#include <algorithm>
#include <cmath>

#include "model/transformer/transformer_oracle.h"

namespace assay {
namespace {

/// Small, and awkward: nothing but heads and rows is a multiple of anything.
TransformerSettings small_version_of(const TransformerSettings& settings,
                                     const DeviceFacts& facts) {
  TransformerSettings small = settings;
  TransformerPlan& plan = small.plan;
  plan.parallel = {};  // each rank checks its own device
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
  // A library that only takes whole tiles gets whole ones.
  if (is_by_library(plan.attention) &&
      fused_attention_unsupported(fused_attention_of(plan), facts)) {
    plan.shape.positions = plan.sequence = 256;
  }
  small.accumulate = 2;  // both of one batch: the gradients of one pass, half of them added
  small.measured_products = false;
  small.loss_scaling.initial = gate_loss_scale;
  return small;
}

}  // namespace

Result<GateResult> check_training(Device& device, Stream& stream,
                                  const TransformerSettings& settings) {
  TransformerSettings small = small_version_of(settings, device.facts());
  const TransformerPlan plan = small.plan;
  const TokenStream text =
      synthetic_tokens(static_cast<std::int32_t>(plan.shape.vocabulary), 1024, settings.seed);
  const TokenBatches data = TRY(cut_batches(text, 1, plan.batch, plan.sequence, settings.seed));
  small.fuse_gelu = false;
  auto training = TRY(TransformerTraining::create(device, stream, small, data));
  const std::vector<float> weights = TRY(training->weights(stream));
  TransformerOracle oracle(plan.shape, std::vector<double>(weights.begin(), weights.end()));
  const double loss = oracle.forward(data.tokens, data.targets, plan.sequence);
  oracle.backward();
  GateResult result;
  TRY(compare_gradients(*training, stream, oracle.gradients(), loss, result));
  if (training->can_fuse_gelu()) {  // which way is faster for the real sizes is not known yet
    small.fuse_gelu = true;
    training = TRY(TransformerTraining::create(device, stream, small, data));
    TRY(compare_gradients(*training, stream, oracle.gradients(), loss, result));
  }
  judge(result, settings.precision, Smoothness::smooth);
  return result;
}

}  // namespace assay
