#include "model/transformer/gpt_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/operations/attention.h"
#include "model/operations/column_sums.h"
#include "model/operations/layer_norm.h"

namespace assay {
namespace {

/// The activations of one block, each from the place that `place` and `floats` give.
GptLayerActivations layer_activations(const GptPlan& plan, TensorPlaces& place,
                                      TensorPlaces& floats, const Tensor* shared_hidden) {
  const GptShape& shape = plan.shape;
  const std::int64_t n = plan.tokens(), c = shape.width;
  const std::int64_t rows = plan.batch * shape.heads * plan.sequence;
  GptLayerActivations a;
  a.normed1 = place.next(n, c);
  a.qkv = place.next(n, 3 * c);
  if (plan.attention == AttentionWay::plain) {
    a.probabilities = place.next(rows, plan.sequence);
  } else {
    a.log_sum = floats.next(plan.batch * shape.heads, plan.sequence);
  }
  a.attended = place.next(n, c);
  a.middle = place.next(n, c);
  a.normed2 = place.next(n, c);
  a.before_gelu = place.next(n, shape.hidden);
  a.hidden = shared_hidden != nullptr ? *shared_hidden : place.next(n, shape.hidden);
  a.statistics1 = floats.next(n, 2);
  a.statistics2 = floats.next(n, 2);
  return a;
}

}  // namespace

GptParameters GptParameters::of(const GptShape& shape, int slices) {
  TensorPlaces place(static_cast<std::size_t>(slices));
  GptParameters p;
  const std::int64_t c = shape.width, f = shape.hidden, with_bias = shape.bias ? 1 : 0;
  p.embedding = place.next(shape.padded_vocabulary(), c);
  p.positions = place.next(shape.positions, c);
  p.sections.push_back(place.end_section());
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    GptLayerParameters layer;
    layer.norm1_weight = place.next(1, c);
    layer.norm1_bias = place.next(1, c);
    layer.qkv = place.next(3 * c, c);
    layer.qkv_bias = place.next(with_bias, 3 * c);
    layer.proj = place.next(c, c);
    layer.proj_bias = place.next(with_bias, c);
    layer.norm2_weight = place.next(1, c);
    layer.norm2_bias = place.next(1, c);
    layer.fc = place.next(f, c);
    layer.fc_bias = place.next(with_bias, f);
    layer.fc2 = place.next(c, f);
    layer.fc2_bias = place.next(with_bias, c);
    p.layers.push_back(layer);
    if (i + 1 == shape.layers) {
      p.norm_weight = place.next(1, c);
      p.norm_bias = place.next(1, c);
    }
    p.sections.push_back(place.end_section());
  }
  p.elements = place.used();
  return p;
}

std::vector<NamedTensor> GptParameters::named() const {
  std::vector<NamedTensor> all;
  const auto add = [&](std::string name, const Tensor& tensor) {
    if (tensor.elements() > 0) all.push_back({std::move(name), tensor});
  };
  add("embedding", embedding);
  add("positions", positions);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const GptLayerParameters& layer = layers[i];
    const auto add_of_layer = [&](const char* name, const Tensor& tensor) {
      add(fmt::format("layers.{}.{}", i, name), tensor);
    };
    add_of_layer("norm1_weight", layer.norm1_weight);
    add_of_layer("norm1_bias", layer.norm1_bias);
    add_of_layer("qkv", layer.qkv);
    add_of_layer("qkv_bias", layer.qkv_bias);
    add_of_layer("proj", layer.proj);
    add_of_layer("proj_bias", layer.proj_bias);
    add_of_layer("norm2_weight", layer.norm2_weight);
    add_of_layer("norm2_bias", layer.norm2_bias);
    add_of_layer("fc", layer.fc);
    add_of_layer("fc_bias", layer.fc_bias);
    add_of_layer("fc2", layer.fc2);
    add_of_layer("fc2_bias", layer.fc2_bias);
  }
  add("norm_weight", norm_weight);
  add("norm_bias", norm_bias);
  return all;
}

GptActivations GptActivations::of(const GptPlan& plan) {
  const GptShape& shape = plan.shape;
  const std::int64_t n = plan.tokens(), c = shape.width;
  TensorPlaces place, floats;
  GptActivations a;
  a.embedded = place.next(n, c);
  // What is computed again needs one place for all blocks.
  Tensor shared_hidden;
  if (plan.recompute == Recompute::gelu) shared_hidden = place.next(n, shape.hidden);
  GptLayerActivations shared;
  if (plan.recompute == Recompute::layer) {
    shared = layer_activations(plan, place, floats, nullptr);
  }
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    GptLayerActivations layer =
        plan.recompute == Recompute::layer
            ? shared
            : layer_activations(plan, place, floats,
                                plan.recompute == Recompute::gelu ? &shared_hidden : nullptr);
    layer.result = place.next(n, c);
    a.layers.push_back(layer);
  }
  a.normed = place.next(n, c);
  a.statistics = floats.next(n, 2);
  a.logits = place.next(n, shape.padded_vocabulary());
  a.stream_gradient = place.next(n, c);
  a.branch_gradient = place.next(n, c);
  a.hidden_gradient = place.next(n, shape.hidden);
  a.qkv_gradient = place.next(n, 3 * c);
  a.branch = place.next(n, c);
  a.elements = place.used();
  a.floats = floats.used();
  return a;
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

FusedAttentionProblem fused_attention_of(const GptPlan& plan) {
  return {.precision = plan.type,
          .batch = plan.batch,
          .sequence = plan.sequence,
          .heads = plan.shape.heads,
          .head_width = plan.shape.head_width(),
          .same_bits = plan.attention != AttentionWay::library_unordered};
}

std::uint64_t scratch_bytes(const GptPlan& plan) {
  const GptShape& shape = plan.shape;
  const auto sums_of = [&](std::uint64_t stripes, std::int64_t width) {
    return stripes * static_cast<std::uint64_t>(width);
  };
  const std::int64_t n = plan.tokens(), c = shape.width, f = shape.hidden;
  const std::uint64_t sums =
      std::max({sums_of(3 * norm_stripes(n, c), c), sums_of(column_stripes(n, 3 * c), 3 * c),
                sums_of(column_stripes(n, f), f)});
  std::uint64_t attention = 0;
  if (plan.attention == AttentionWay::plain) {  // scores of one sequence and their gradients
    attention =
        2 * sizeof(float) * static_cast<std::uint64_t>(shape.heads * plan.sequence * plan.sequence);
  } else if (plan.attention == AttentionWay::own) {
    attention =
        flash_attention_scratch_bytes(plan.batch * shape.heads, plan.sequence, shape.head_width());
  }
  return std::max(sizeof(float) * sums, attention);
}

std::uint64_t gathered_lookups(const GptPlan& plan) {
  const GptParameters parameters = GptParameters::of(plan.shape, plan.parallel.ranks);
  const auto rows = static_cast<std::uint64_t>(plan.tokens() * plan.shape.width);
  return plan.parallel.gathers_rows(rows, parameters.sections.front().elements()) ? rows : 0;
}

TrainingMemory memory_of(const GptPlan& plan) {
  const GptParameters parameters = GptParameters::of(plan.shape, plan.parallel.ranks);
  const GptActivations activations = GptActivations::of(plan);
  const std::uint64_t element = size_of(plan.type);
  TrainingMemory memory =
      memory_of_parameters(plan, parameters.sections, GptParameters::kept_sections);
  memory.logits = static_cast<std::uint64_t>(activations.logits.elements()) * element;
  memory.activations =
      activations.elements * element + activations.floats * sizeof(float) - memory.logits;
  memory.scratch = scratch_bytes(plan);
  memory.exchange +=
      gathered_lookups(plan) * static_cast<std::uint64_t>(plan.parallel.ranks) * element;
  if (is_by_library(plan.attention)) {
    memory.scratch += fused_attention_bytes(fused_attention_of(plan));
  }
  return memory;
}

std::int64_t largest_batch(GptPlan plan, std::uint64_t bytes) {
  return largest_batch(
      [&](std::int64_t batch) {
        plan.batch = batch;
        return memory_of(plan);
      },
      bytes);
}

std::string what_would_fit(const GptPlan& plan, std::uint64_t bytes) {
  std::vector<std::string> fitting;
  const std::int64_t batch = largest_batch(plan, bytes);
  if (batch > 0) fitting.push_back(fmt::format("batch={}", batch));
  const auto try_plan = [&](GptPlan other, const char* text) {
    if (memory_of(other).total() <= bytes) fitting.emplace_back(text);
  };
  GptPlan other = plan;
  other.recompute = Recompute::layer;
  if (plan.recompute != Recompute::layer) try_plan(other, "recompute=layer");
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
