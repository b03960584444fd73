#include "model/training/training_layout.h"

#include <algorithm>
#include <array>

#include "model/tensors/shared_places.h"

namespace assay {
namespace {

/// What a pass does, in an order in which a block's forward pass, or what is computed of it again,
/// is followed by its backward pass. A norm computed again is part of the moment that reads it.
enum class Moment : unsigned {
  down,       ///< a block's last product, forward
  last_norm,  ///< forward
  head,       ///< logits and losses, their gradients and the last norm's
  norm1,
  qkv,
  rotation,
  attention,
  proj,
  norm2,
  up,
  activation,
  down_weight,  ///< its gradient, after quantization
  down_input,
  activation_gradient,
  up_quantization,
  up_weight,
  up_input,
  norm2_gradient,
  proj_gradients,
  attention_gradient,  ///< with that of the rotation
  qkv_gradients,       ///< with that of the norm before it
};

using Moments = SharedPlaces::Moments;
constexpr Moments at(Moment moment) {
  return Moments{1} << static_cast<unsigned>(moment);
}
/// From the beginning of `first` to the end of `last`.
constexpr Moments during(Moment first, Moment last) {
  return 2 * at(last) - at(first);
}

/// When the copies of a matrix in FP8 are needed, in the order of matrices_of_block().
struct MatrixMoments {
  Moment product, quantization, weight_gradient, input_gradient;
};
constexpr std::array<MatrixMoments, 4> moments_of_matrices = {
    {{Moment::qkv, Moment::qkv_gradients, Moment::qkv_gradients, Moment::qkv_gradients},
     {Moment::proj, Moment::proj_gradients, Moment::proj_gradients, Moment::proj_gradients},
     {Moment::up, Moment::up_quantization, Moment::up_weight, Moment::up_input},
     {Moment::down, Moment::down_weight, Moment::down_weight, Moment::down_input}}};

/// What all blocks share of their activations. Tensors that each block keeps are empty.
struct SharedOfBlocks {
  LayerActivations layer;
  Fp8Layer fp8;
  Tensor last_result;  ///< that of the last block
};

void add_layer(SharedPlaces& places, LayerActivations& a, const TransformerPlan& plan) {
  const TransformerShape& shape = plan.shape;
  const std::int64_t n = plan.tokens(), c = shape.width;
  const Recompute recompute = plan.recompute;
  const bool as_codes = plan.keeps_inputs_as_codes(), frozen = plan.lora.has_value();
  const bool gated = shape.activation == ActivationKind::swiglu;
  const bool whole = recompute == Recompute::layer;
  if (as_codes || recompute >= Recompute::selective) {
    const Moments again1 =
        whole ? during(Moment::norm1, Moment::qkv_gradients) : at(Moment::qkv_gradients);
    const Moments again2 = recompute >= Recompute::perceptron
                               ? during(Moment::norm2, Moment::up_input)
                               : during(Moment::up_weight, Moment::up_input);
    places.add(a.normed1, n, c, during(Moment::norm1, Moment::qkv) | (as_codes ? 0 : again1));
    places.add(a.normed2, n, c, during(Moment::norm2, Moment::up) | (as_codes ? 0 : again2));
  }
  if (as_codes || recompute >= Recompute::activation) {
    // A product's epilogue may compute the GELU.
    const Moment made = gated ? Moment::activation : Moment::up;
    const Moment last = frozen ? Moment::down_input : Moment::down_weight;
    const bool again = recompute >= Recompute::activation;
    places.add(a.hidden, n, shape.hidden,
               at(Moment::down) | during(made, again ? last : Moment::activation));
  }
  if (recompute >= Recompute::perceptron) {
    places.add(a.before_activation, n, shape.up_width(),
               during(Moment::up, as_codes ? Moment::up_quantization : Moment::up_input));
  }
  if (!whole) return;
  const LoraParameters adapters = plan.adapters();
  const LoraLayer& ranks = adapters.layers.front();
  places.add(a.qkv, n, shape.qkv_width(), during(Moment::qkv, Moment::attention_gradient));
  if (plan.attention == AttentionWay::plain) {
    places.add(a.probabilities, plan.batch * shape.heads * plan.sequence, plan.sequence,
               during(Moment::attention, Moment::attention_gradient));
  }
  places.add(a.attended, n, shape.query_width(),
             during(Moment::attention, Moment::attention_gradient));
  places.add(a.middle, n, c,
             at(Moment::down) | at(Moment::last_norm) | at(Moment::norm1) |
                 during(Moment::norm2, Moment::norm2_gradient));
  places.add(a.qkv_ranks, n, ranks.qkv.ranks(), during(Moment::qkv, Moment::qkv_gradients));
  places.add(a.proj_ranks, n, ranks.proj.ranks(), during(Moment::proj, Moment::proj_gradients));
  places.add(a.up_ranks, n, ranks.up.ranks(), during(Moment::up, Moment::up_input));
  places.add(a.down_ranks, n, ranks.down.ranks(), at(Moment::down) | at(Moment::down_input));
}

void add_fp8(SharedPlaces& places, SharedOfBlocks& shared, const TransformerPlan& plan,
             const Fp8Layout& layout) {
  const std::int64_t n = plan.tokens();
  const auto add = [&](Tensor& codes, std::int64_t rows, std::int64_t columns, Moments needed) {
    places.add(codes, rows, columns / 2, needed);
  };
  const auto matrices = matrices_of_block(plan.shape);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const MatrixOfBlock& m = matrices[i];
    const MatrixMoments& moments = moments_of_matrices[i];
    Fp8Operands& copies = shared.fp8.*m.copies;
    add(copies.input, n, m.inputs, at(moments.product));
    add(copies.gradient, n, m.outputs, during(moments.quantization, moments.input_gradient));
    if (Fp8Layout::takes_turns(plan)) {
      add(copies.weight, m.outputs, m.inputs, at(moments.product));
      add(copies.weight_columns, m.inputs, m.outputs, at(moments.input_gradient));
    }
    if (plan.lora) continue;
    add(copies.gradient_columns, m.outputs, n,
        during(moments.quantization, moments.weight_gradient));
    const InputColumns columns = (layout.layers.front().*m.copies).columns;
    if (columns == InputColumns::kept) continue;
    add(copies.input_columns, m.inputs, n,
        columns == InputColumns::alone ? at(moments.weight_gradient)
                                       : during(moments.product, moments.weight_gradient));
  }
}

void add_others(SharedPlaces& places, TrainingActivations& a, Tensor& last_result,
                const TransformerPlan& plan, std::int64_t rows_of_logits) {
  const TransformerShape& shape = plan.shape;
  const std::int64_t n = plan.tokens(), c = shape.width;
  const bool gated = shape.activation == ActivationKind::swiglu;
  const Moments gradients_of_matrices = at(Moment::down_input) | at(Moment::up_input) |
                                        at(Moment::proj_gradients) | at(Moment::qkv_gradients);
  places.add(a.normed, n, c, during(Moment::last_norm, Moment::head));
  places.add(last_result, n, c, during(Moment::last_norm, Moment::head));
  places.add(a.logits, rows_of_logits, shape.padded_vocabulary(), at(Moment::head));
  places.add(a.rotated, shape.changes_heads() ? n : 0, shape.qkv_width(),
             plan.recompute == Recompute::layer
                 ? during(Moment::rotation, Moment::attention_gradient)
                 : during(Moment::rotation, Moment::attention) | at(Moment::attention_gradient));
  places.add(a.branch, n, c,
             at(Moment::down) | at(Moment::last_norm) | at(Moment::norm1) |
                 during(Moment::proj, Moment::norm2));
  places.add(a.branch_gradient, n, std::max(c, shape.query_width()),
             at(Moment::head) | during(Moment::up_input, Moment::qkv_gradients));
  places.add(a.hidden_gradient, n, shape.hidden,
             during(Moment::down_input, gated ? Moment::activation_gradient : Moment::up_input));
  places.add(a.qkv_gradient, n, shape.qkv_width(),
             during(Moment::attention_gradient, Moment::qkv_gradients));
  places.add(a.ranks_gradient, n, plan.adapters().most_ranks(), gradients_of_matrices);
}

/// What a block keeps; `shared` has what it does not.
LayerActivations own_layer(const TransformerPlan& plan, const LoraLayer& adapters,
                           TensorPlaces& place, const LayerActivations& shared) {
  const TransformerShape& shape = plan.shape;
  const std::int64_t n = plan.tokens(), c = shape.width;
  const auto own = [&](Tensor& tensor, std::int64_t rows, std::int64_t columns) {
    if (tensor.elements() == 0) tensor = place.next(rows, columns);
  };
  LayerActivations a = shared;
  own(a.normed1, n, c);
  own(a.qkv, n, shape.qkv_width());
  if (plan.attention == AttentionWay::plain) {
    own(a.probabilities, plan.batch * shape.heads * plan.sequence, plan.sequence);
  }
  own(a.attended, n, shape.query_width());
  own(a.middle, n, c);
  own(a.normed2, n, c);
  own(a.before_activation, n, shape.up_width());
  own(a.hidden, n, shape.hidden);
  own(a.qkv_ranks, n, adapters.qkv.ranks());
  own(a.proj_ranks, n, adapters.proj.ranks());
  own(a.up_ranks, n, adapters.up.ranks());
  own(a.down_ranks, n, adapters.down.ranks());
  return a;
}

void add_floats(const TransformerPlan& plan, LayerActivations& a, TensorPlaces& floats) {
  if (plan.attention != AttentionWay::plain) {
    a.log_sum = floats.next(plan.batch * plan.shape.heads, plan.sequence);
  }
  a.statistics1 = floats.next(plan.tokens(), 2);
  a.statistics2 = floats.next(plan.tokens(), 2);
}

/// The copies in FP8 of a block that lie in the arena of activations.
void add_copies(const TransformerPlan& plan, Fp8Layer& layer, TensorPlaces& place,
                const Fp8Layer& shared) {
  for (const MatrixOfBlock& m : matrices_of_block(plan.shape)) {
    Fp8Operands& own = layer.*m.copies;
    const Fp8Operands& common = shared.*m.copies;
    if (Fp8Layout::takes_turns(plan)) {
      own.weight = common.weight;
      own.weight_columns = common.weight_columns;
    }
    own.input = common.input;
    own.gradient = common.gradient;
    own.gradient_columns = common.gradient_columns;
    const bool keeps = !plan.lora && own.columns == InputColumns::kept;
    own.input_columns = keeps ? place.next(m.inputs, plan.tokens() / 2) : common.input_columns;
  }
}

/// Returns where gradients begin if they lie over activations. Each gradient is first written after
/// the last use of the activations in its place.
std::optional<std::size_t> place_of_gradients(const TransformerPlan& plan,
                                              const TrainingActivations& a,
                                              const std::vector<std::size_t>& ends_of_layers) {
  if (!plan.one_pass || plan.lora || plan.parallel.slices_parameters()) return std::nullopt;
  const TransformerParameters parameters = TransformerParameters::of(plan.shape, plan.layout());
  // A tied head begins the gradients of the embedding before the blocks. A block begins that of the
  // last bias of the block before it.
  if (parameters.tied || parameters.layers.front().down_bias.elements() > 0) return std::nullopt;
  // The embedding's gradient is the last one, and needs only that of the stream.
  std::size_t begin = TensorPlaces::aligned_end(a.stream_gradient.offset, a.stream_gradient);
  for (std::size_t i = 0; i < ends_of_layers.size(); ++i) {
    const std::size_t offset = parameters.sections[i + 1].begin;
    if (ends_of_layers[i] > offset) begin = std::max(begin, ends_of_layers[i] - offset);
  }
  return begin;
}

}  // namespace

TrainingActivations TrainingActivations::with_rows_of_logits(const TransformerPlan& plan,
                                                             std::int64_t rows) {
  const std::int64_t n = plan.tokens(), c = plan.shape.width;
  TrainingActivations a;
  a.fp8 = Fp8Layout::of(plan);
  TensorPlaces first;
  a.stream_gradient = first.next(n, c);
  SharedPlaces places;
  SharedOfBlocks shared;
  add_layer(places, shared.layer, plan);
  if (plan.fp8) add_fp8(places, shared, plan, a.fp8);
  add_others(places, a, shared.last_result, plan, rows);
  TensorPlaces floats, place(1, places.place_all(first.used()));
  if (plan.recompute == Recompute::layer) add_floats(plan, shared.layer, floats);
  a.embedded = place.next(n, c);
  const LoraParameters adapters = plan.adapters();
  std::vector<std::size_t> ends_of_layers;
  for (std::size_t i = 0; i < a.fp8.layers.size(); ++i) {
    LayerActivations layer = own_layer(plan, adapters.layers[i], place, shared.layer);
    if (plan.recompute != Recompute::layer) add_floats(plan, layer, floats);
    if (plan.fp8) add_copies(plan, a.fp8.layers[i], place, shared.fp8);
    ends_of_layers.push_back(place.used());
    const bool last = i + 1 == a.fp8.layers.size();
    layer.result = last ? shared.last_result : place.next(n, c);
    a.layers.push_back(layer);
  }
  a.statistics = floats.next(n, 2);
  a.floats = floats.used();
  a.elements = place.used();
  a.before_gradients = place_of_gradients(plan, a, ends_of_layers);
  if (a.before_gradients) {
    a.elements = *a.before_gradients +
                 TransformerParameters::of(plan.shape, plan.layout()).sections.back().end;
  }
  return a;
}

}  // namespace assay
