// The products with a block's matrices in a training pass, forward and backward: of the plan's
// type, or of FP8, for which their operands are quantized first.
#include "model/training/transformer_training.h"

namespace assay {

TransformerTraining::BlockMatrices TransformerTraining::matrices_of(std::size_t layer) const {
  const TransformerShape& shape = plan_.shape;
  const LayerParameters& p = parameters_.layers[layer];
  const Fp8Layer& fp8 = activations_.fp8.layers[layer];
  const std::int64_t n = plan_.tokens(), c = shape.width;
  return {{p.qkv, p.qkv_bias, {n, shape.qkv_width(), c}, fp8.qkv},
          {p.proj, p.proj_bias, {n, c, shape.query_width()}, fp8.proj},
          {p.up, p.up_bias, {n, shape.up_width(), c}, fp8.up, false, parameters_.gated},
          {p.down, p.down_bias, {n, c, shape.hidden}, fp8.down, parameters_.gated}};
}

/// Adapters of all columns come first. The larger product then adds to what they write, which it
/// can read while it multiplies; adapters that come later read and write the result once more.
Status TransformerTraining::multiply_adapted(Stream& stream, Phase phase, std::string_view name,
                                             void* y, const void* x, const BlockMatrix& matrix,
                                             AdaptersOfMatrix adapters) {
  if (adapters.group.parts.empty()) return multiply(stream, phase, name, y, x, matrix);
  const LowRankGroup group = low_rank_group(adapters.group);
  void* const t = active(adapters.ranks);
  TRY(timed(stream, phase, "adapters", low_rank_->project(stream, t, x, group)));
  const auto apply = [&](bool add) {
    return timed(stream, phase, "adapters", low_rank_->apply(stream, y, t, group, add));
  };
  const bool first = adapters.group.fills_result() && matrix.bias.elements() == 0;
  if (first) TRY(apply(false));
  TRY(multiply(stream, phase, name, y, x, matrix, first));
  return first ? Status() : apply(true);
}

Status TransformerTraining::input_gradient_adapted(Stream& stream, std::string_view name, void* dx,
                                                   const void* dy, const void* x,
                                                   const BlockMatrix& matrix,
                                                   AdaptersOfMatrix adapters, bool add) {
  TRY(adapters_backward(stream, dx, dy, x, adapters, add));
  return input_gradient(stream, name, dx, dy, matrix, !adapters.group.parts.empty());
}

Status TransformerTraining::adapters_backward(Stream& stream, void* dx, const void* dy,
                                              const void* x, AdaptersOfMatrix adapters, bool add) {
  if (adapters.group.parts.empty()) return {};
  return timed(stream, Phase::backward, "adapters",
               low_rank_->backward(stream, dx, dy, x, active(adapters.ranks),
                                   active(activations_.ranks_gradient),
                                   low_rank_group(adapters.group), add));
}

LowRankGroup TransformerTraining::low_rank_group(const LoraGroup& group) const {
  LowRankGroup made = {.a = arenas().weight(group.a),
                       .d_a = arenas().gradient(group.a),
                       .parts = {},
                       .rows = plan_.tokens(),
                       .inputs = group.a.columns,
                       .columns = group.outputs,
                       .rank = adapters_.rank};
  for (const LoraGroup::Part& part : group.parts) {
    made.parts.push_back(
        {arenas().weight(part.b), arenas().gradient(part.b), part.first, part.b.rows});
  }
  return made;
}

Status TransformerTraining::multiply(Stream& stream, Phase phase, std::string_view name, void* y,
                                     const void* x, const BlockMatrix& matrix, bool add) {
  void* const bias = weight_or_null(matrix.bias);
  if (!fp8_linear_) {
    return timed(stream, phase, name,
                 linear_->forward(stream, y, x, weight(matrix.weight), bias, matrix.shape, add));
  }
  const Fp8Matrix of_weight = fp8_weight(matrix.fp8);
  TRY(take_turn(stream, phase, matrix, {of_weight.codes, nullptr, of_weight.scale}));
  TRY(quantize_input(stream, phase, x, matrix));
  TRY(fp8_linear_->forward(stream, y, fp8_input(matrix.fp8), of_weight, matrix.shape, add));
  Status added;
  if (bias != nullptr) {
    added =
        activation_functions_->add_bias(stream, y, bias, matrix.shape.rows, matrix.shape.outputs);
  }
  return timed(stream, phase, name, added);
}

Status TransformerTraining::multiply_gelu(Stream& stream, Phase phase, std::string_view name,
                                          void* y, void* before, const void* x,
                                          const BlockMatrix& matrix) {
  if (!fp8_linear_) {
    return timed(stream, phase, name,
                 linear_->forward_gelu(stream, y, before, x, weight(matrix.weight),
                                       weight_or_null(matrix.bias), matrix.shape));
  }
  TRY(multiply(stream, phase, name, before, x, matrix));
  return timed(
      stream, phase, "gelu",
      activation_functions_->gelu(stream, y, before, matrix.shape.rows * matrix.shape.outputs));
}

Status TransformerTraining::quantize_gradient(Stream& stream, const void* dy,
                                              const BlockMatrix& matrix) {
  if (!fp8_linear_) return {};
  const Fp8Matrix gradient = fp8_gradient(matrix.fp8);
  const std::int64_t n = matrix.shape.rows, outputs = matrix.shape.outputs;
  if (!matrix.finds_gradient) {
    TRY(fp8_linear_->find_largest(stream, gradient.scale, dy, n * outputs));
  }
  return timed(stream, Phase::backward, "quantize",
               fp8_linear_->quantize(stream, Fp8Role::gradient, gradient, dy, n, outputs));
}

Status TransformerTraining::input_gradient(Stream& stream, std::string_view name, void* dx,
                                           const void* dy, const BlockMatrix& matrix, bool add) {
  if (!fp8_linear_) {
    return timed(stream, Phase::backward, name,
                 linear_->input_gradient(stream, dx, dy, weight(matrix.weight), matrix.shape, add));
  }
  const Fp8Matrix of_weight = fp8_weight(matrix.fp8);
  TRY(take_turn(stream, Phase::backward, matrix,
                {nullptr, of_weight.columns_of_codes, of_weight.scale}));
  return timed(stream, Phase::backward, name,
               fp8_linear_->input_gradient(stream, dx, fp8_gradient(matrix.fp8), of_weight,
                                           matrix.shape, add));
}

Status TransformerTraining::input_gradient_gelu(Stream& stream, std::string_view name, void* dx,
                                                const void* dy, const void* before,
                                                const BlockMatrix& matrix) {
  if (!fp8_linear_) {
    return timed(
        stream, Phase::backward, name,
        linear_->input_gradient_gelu(stream, dx, dy, weight(matrix.weight), before, matrix.shape));
  }
  TRY(input_gradient(stream, name, dx, dy, matrix));
  return timed(stream, Phase::backward, "gelu",
               activation_functions_->gelu_backward(stream, dx, before,
                                                    matrix.shape.rows * matrix.shape.inputs));
}

Status TransformerTraining::weight_gradient(Stream& stream, std::string_view name, const void* dy,
                                            const void* x, const BlockMatrix& matrix, bool add) {
  if (frozen()) return {};
  void* const dw = gradient(matrix.weight);
  return timed(stream, Phase::backward, name,
               fp8_linear_ ? fp8_linear_->weight_gradient(stream, dw, fp8_gradient(matrix.fp8),
                                                          fp8_input(matrix.fp8), matrix.shape, add)
                           : linear_->weight_gradient(stream, dw, dy, x, matrix.shape, add));
}

/// Largest magnitudes begin as 0, but for those of weights that are not quantized in this pass.
Status TransformerTraining::begin_fp8_pass(Stream& stream, bool new_weights) {
  if (!fp8_linear_) return {};
  const std::size_t first = quantizes_weights(new_weights) ? 0 : activations_.fp8.weight_scales;
  return stream.fill(scale(first), 0, (activations_.fp8.scales - first) * fp8_scale_bytes);
}

Status TransformerTraining::quantize_weights(Stream& stream, std::size_t layer) {
  if (!fp8_linear_ || Fp8Layout::takes_turns(plan_)) return {};
  const BlockMatrices matrices = matrices_of(layer);
  for (const BlockMatrix* m : {&matrices.qkv, &matrices.proj, &matrices.up, &matrices.down}) {
    const Fp8Matrix copies = fp8_weight(m->fp8);
    const std::int64_t rows = m->shape.outputs, columns = m->shape.inputs;
    TRY(fp8_linear_->find_largest(stream, copies.scale, weight(m->weight), rows * columns));
    TRY(fp8_linear_->quantize(stream, Fp8Role::value, copies, weight(m->weight), rows, columns));
  }
  return timed(stream, Phase::forward, "quantize_weights", {});
}

/// In the backward pass the largest magnitudes are those of the forward pass.
Status TransformerTraining::take_turn(Stream& stream, Phase phase, const BlockMatrix& matrix,
                                      Fp8Matrix to) {
  if (!Fp8Layout::takes_turns(plan_)) return {};
  const std::int64_t rows = matrix.shape.outputs, columns = matrix.shape.inputs;
  const void* const w = weight(matrix.weight);
  if (phase == Phase::forward) {
    TRY(fp8_linear_->find_largest(stream, to.scale, w, rows * columns));
  }
  return timed(stream, phase, "quantize_weights",
               fp8_linear_->quantize(stream, Fp8Role::value, to, w, rows, columns));
}

Status TransformerTraining::quantize_input(Stream& stream, Phase phase, const void* x,
                                           const BlockMatrix& matrix) {
  Fp8Matrix input = fp8_input(matrix.fp8);
  const bool writes_columns =
      matrix.fp8.columns == InputColumns::kept ||
      (matrix.fp8.columns == InputColumns::by_product && phase == Phase::backward);
  if (!writes_columns) input.columns_of_codes = nullptr;
  const std::int64_t n = matrix.shape.rows, inputs = matrix.shape.inputs;
  if (phase == Phase::forward && !matrix.finds_input) {
    TRY(fp8_linear_->find_largest(stream, input.scale, x, n * inputs));
  }
  return timed(stream, phase, "quantize",
               fp8_linear_->quantize(stream, Fp8Role::value, input, x, n, inputs));
}

Status TransformerTraining::quantize_input_again(Stream& stream, const void* x,
                                                 const BlockMatrix& matrix) {
  if (!fp8_linear_ || frozen() || matrix.fp8.columns != InputColumns::alone) return {};
  Fp8Matrix input = fp8_input(matrix.fp8);
  input.codes = nullptr;
  return timed(stream, Phase::backward, "quantize",
               fp8_linear_->quantize(stream, Fp8Role::value, input, x, matrix.shape.rows,
                                     matrix.shape.inputs));
}

Fp8Matrix TransformerTraining::fp8_weight(const Fp8Operands& operands) const {
  const auto code = [&](const Tensor& t) {
    return Fp8Layout::takes_turns(plan_) ? active(t) : codes_.as<std::byte>() + t.offset;
  };
  return {code(operands.weight), code(operands.weight_columns), scale(operands.weight_scale)};
}

Fp8Matrix TransformerTraining::fp8_input(const Fp8Operands& operands) const {
  return {active(operands.input), active_or_null(operands.input_columns),
          scale(operands.input_scale)};
}

Fp8Matrix TransformerTraining::fp8_gradient(const Fp8Operands& operands) const {
  return {active(operands.gradient), active_or_null(operands.gradient_columns),
          scale(operands.gradient_scale)};
}

}  // namespace assay
