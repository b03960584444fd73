#include "model/training/training_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/operations/attention.h"
#include "model/operations/column_sums.h"
#include "model/operations/fp8_linear.h"
#include "model/operations/head_rotation.h"
#include "model/operations/norm.h"
#include "model/training/training_layout.h"

namespace assay {

LoraParameters TransformerPlan::adapters() const {
  return LoraParameters::of(shape, lora.value_or(LoraSettings()), parallel.ranks);
}

std::vector<Section> TransformerPlan::sections() const {
  return lora ? adapters().sections : TransformerParameters::of(shape, layout()).sections;
}

double TransformerPlan::trained_parameters() const {
  return lora ? adapters().parameters() : shape.parameters();
}

std::int64_t TransformerPlan::rows_of_logits() const {
  constexpr std::int64_t most_of_all = std::int64_t{2} << 30, most_of_part = 640 << 20;  // bytes
  constexpr std::int64_t multiple = 128;  // of matrix units
  if (head_rows > 0) return std::min(head_rows, tokens());
  const std::int64_t row = shape.padded_vocabulary() * static_cast<std::int64_t>(size_of(type));
  if (tokens() * row <= most_of_all) return tokens();
  // Parts are as large as each other, so that one algorithm of their products suits nearly all.
  const std::int64_t most = std::max<std::int64_t>(1, most_of_part / row);
  const std::int64_t parts = (tokens() + most - 1) / most;
  const std::int64_t rows = (tokens() + parts - 1) / parts;
  return std::min(tokens(), (rows + multiple - 1) / multiple * multiple);
}

std::string_view name_of(AttentionWay way) {
  switch (way) {
    case AttentionWay::plain:
      return "plain";
    case AttentionWay::own:
      return "own";
    case AttentionWay::library:
      return "library";
    case AttentionWay::library_unordered:
      return "library-unordered";
  }
  return "?";
}

AttentionShape attention_shape_of(const TransformerPlan& plan) {
  return {plan.batch, plan.sequence, plan.shape.heads, plan.shape.head_width, plan.shape.kv_heads};
}

FusedAttentionProblem fused_attention_of(const TransformerPlan& plan) {
  return {.precision = plan.type,
          .batch = plan.batch,
          .sequence = plan.sequence,
          .heads = plan.shape.heads,
          .head_width = plan.shape.head_width,
          .same_bits = plan.attention != AttentionWay::library_unordered,
          .kv_heads = plan.shape.kv_heads};
}

std::uint64_t scratch_bytes(const TransformerPlan& plan) {
  const TransformerShape& shape = plan.shape;
  const auto sums_of = [&](std::uint64_t stripes, std::int64_t width) {
    return stripes * static_cast<std::uint64_t>(width);
  };
  const std::int64_t n = plan.tokens(), c = shape.width, qkv = shape.qkv_width(),
                     up = shape.up_width();
  const std::uint64_t sums =
      std::max({sums_of(3 * norm_stripes(n, c), c), sums_of(column_stripes(n, qkv), qkv),
                sums_of(column_stripes(n, up), up)});
  std::uint64_t attention = 0;
  if (plan.attention == AttentionWay::plain) {  // scores of one sequence and their gradients
    attention =
        2 * sizeof(float) * static_cast<std::uint64_t>(shape.heads * plan.sequence * plan.sequence);
  } else if (plan.attention == AttentionWay::own) {
    attention =
        flash_attention_scratch_bytes(plan.batch * shape.heads, plan.sequence, shape.head_width);
  }
  const std::uint64_t rotation =
      shape.head_norms ? HeadRotation::scratch_bytes(attention_shape_of(plan)) : 0;
  return std::max({sizeof(float) * sums, attention, rotation});
}

std::uint64_t gathered_lookups(const TransformerPlan& plan) {
  if (plan.lora) return 0;         // embeddings are frozen
  if (!plan.shape.tied) return 0;  // then only lookups make the embedding's gradient
  const TransformerParameters parameters = TransformerParameters::of(plan.shape, plan.layout());
  const auto rows = static_cast<std::uint64_t>(plan.tokens() * plan.shape.width);
  return plan.parallel.gathers_rows(rows, parameters.sections.front().elements()) ? rows : 0;
}

TrainingMemory memory_of(const TransformerPlan& plan) {
  const TransformerParameters parameters = TransformerParameters::of(plan.shape, plan.layout());
  const TrainingActivations activations = TrainingActivations::of(plan);
  const std::uint64_t element = size_of(plan.type);
  TrainingMemory memory =
      memory_of_parameters(plan, plan.sections(), TransformerParameters::kept_sections);
  if (plan.lora) memory.parameters += parameters.elements * element;
  memory.parameters += activations.fp8.weight_codes;
  const std::size_t all = activations.beside_gradients();
  const std::size_t without_logits =
      std::min(all, TrainingActivations::with_rows_of_logits(plan, 0).beside_gradients());
  memory.logits = (all - without_logits) * element;
  memory.activations = without_logits * element + activations.floats * sizeof(float) +
                       activations.fp8.scales * fp8_scale_bytes;
  memory.scratch = scratch_bytes(plan);
  memory.exchange +=
      gathered_lookups(plan) * static_cast<std::uint64_t>(plan.parallel.ranks) * element;
  if (is_by_library(plan.attention)) {
    memory.scratch += fused_attention_bytes(fused_attention_of(plan));
  }
  return memory;
}

std::int64_t largest_batch(TransformerPlan plan, std::uint64_t bytes) {
  return largest_batch(
      [&](std::int64_t batch) {
        plan.batch = batch;
        return memory_of(plan);
      },
      bytes);
}

std::string what_would_fit(const TransformerPlan& plan, std::uint64_t bytes) {
  std::vector<std::string> fitting;
  const std::int64_t batch = largest_batch(plan, bytes);
  if (batch > 0) fitting.push_back(fmt::format("batch={}", batch));
  const auto try_plan = [&](const TransformerPlan& other, const char* text) {
    if (memory_of(other).total() <= bytes) fitting.emplace_back(text);
  };
  TransformerPlan other = plan;
  other.recompute = Recompute::selective;
  if (plan.recompute < other.recompute) try_plan(other, "recompute=selective");
  other.recompute = Recompute::perceptron;
  if (plan.recompute < other.recompute) try_plan(other, "recompute=perceptron");
  other.recompute = Recompute::layer;
  if (plan.recompute < other.recompute) try_plan(other, "recompute=layer");
  other = plan;
  other.type = DataType::bf16;
  other.states = OptimizerStates::stochastic;
  if (plan.states != OptimizerStates::stochastic) {
    try_plan(other, "precision=bf16 states=stochastic");
  }
  other.recompute = Recompute::layer;
  other.batch = 1;
  if (fitting.empty()) try_plan(other, "precision=bf16 states=stochastic recompute=layer batch=1");
  if (fitting.empty()) return "nothing that keeps this model and sequence would fit";
  return fmt::format("{} would fit", fmt::join(fitting, ", or "));
}

}  // namespace assay
