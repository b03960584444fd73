#include "model/training/transformer_training.h"

#include <algorithm>
#include <utility>

namespace assay {

// ---- One pass, from top to bottom ----

Status TransformerTraining::pass(Stream& stream, std::uint64_t number) {
  const BatchChoice choice = choose_batch(number, batches_.batches, batches_.targets_of_batches());
  TRY(forward(stream, batches_, choice, number == 0));
  if (!plan_.cuts_logits()) {
    TRY(forward_head(stream, batches_, choice));
    TRY(timed(stream, Phase::forward, "loss",
              record_losses(stream, losses_of_tokens(), choice, number)));
  }
  return backward(stream, choice, number);
}

Result<Training::Losses> TransformerTraining::held_back_pass(Stream& stream, BatchChoice choice) {
  TRY(forward(stream, held_back_, choice, true));
  TRY(forward_head(stream, held_back_, choice));
  return losses_of_tokens();
}

Status TransformerTraining::forward(Stream& stream, const DeviceBatches& data, BatchChoice choice,
                                    bool new_weights) {
  const std::int64_t n = plan_.tokens(), c = plan_.shape.width;
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::forward, name, std::move(queued));
  };
  if (plan_.documents) {
    TRY(embedding_->document_starts(stream, document_starts_.as<std::int32_t>(), data, choice));
  }
  if (frozen()) TRY(enter(stream, Phase::forward, all_adapters));
  TRY(begin_fp8_pass(stream, new_weights));
  TRY(enter_part(stream, Phase::forward, embeddings));
  TRY(done(
      "embedding",
      embedding_->forward(stream, active(activations_.embedded), weight(parameters_.embedding),
                          weight_or_null(parameters_.positions), data, choice, plan_.sequence, c)));
  // A block leaves what it adds to the stream in `branch`; the next norm adds it.
  void* stream_in = active(activations_.embedded);
  void* branch_in = nullptr;
  for (std::size_t i = 0; i < activations_.layers.size(); ++i) {
    if (i > 0) TRY(leave_part(stream, Phase::forward, section_of(i - 1)));
    TRY(enter_part(stream, Phase::forward, section_of(i)));
    if (quantizes_weights(new_weights)) TRY(quantize_weights(stream, i));
    TRY(forward_layer(stream, Phase::forward, i, stream_in, branch_in));
    TRY(leave_branch(stream, i));
    stream_in = active(activations_.layers[i].middle);
    branch_in = active(activations_.branch);
  }
  void* const last = active(activations_.layers.back().result);
  TRY(done("norm",
           norm_->forward(stream, active(activations_.normed), statistic(activations_.statistics),
                          last, stream_in, branch_in, weight(parameters_.norm_weight),
                          weight_or_null(parameters_.norm_bias), {n, c})));
  return leave_part(stream, Phase::forward, section_of(activations_.layers.size() - 1));
}

/// Leaves a loss of each token in losses_.
Status TransformerTraining::forward_head(Stream& stream, const DeviceBatches& data,
                                         BatchChoice choice) {
  if (!parameters_.tied) TRY(enter_part(stream, Phase::forward, head_section()));
  TRY(for_parts_of_logits([&](std::int64_t first, std::int64_t rows) {
    return logits_and_losses(stream, Phase::forward, data, choice, first, rows);
  }));
  return parameters_.tied ? Status() : leave_part(stream, Phase::forward, head_section());
}

/// The losses of some tokens, and the gradients of their logits in the place of these.
Status TransformerTraining::logits_and_losses(Stream& stream, Phase phase,
                                              const DeviceBatches& data, BatchChoice choice,
                                              std::int64_t first, std::int64_t rows) {
  const TransformerShape& shape = plan_.shape;
  const std::int64_t c = shape.width;
  void* const logits = active(activations_.logits);
  TRY(timed(
      stream, phase, "head",
      linear_->forward(stream, logits, rows_from(activations_.normed, first, c),
                       weight(parameters_.head), nullptr, {rows, shape.padded_vocabulary(), c})));
  return timed(stream, phase, "loss",
               cross_entropy_->forward_backward(stream, logits, losses_.data(), data, choice, first,
                                                rows, shape.vocabulary, shape.padded_vocabulary()));
}

template <typename Body>
Status TransformerTraining::for_parts_of_logits(Body body) const {
  const std::int64_t n = plan_.tokens(), rows = plan_.rows_of_logits();
  for (std::int64_t first = 0; first < n; first += rows) {
    TRY(body(first, std::min(rows, n - first)));
  }
  return {};
}

/// Block `layer` up to its activation, all that backward needs of it. Its input is stream_in +
/// branch_in; the sum is kept as the result of the block before it.
Status TransformerTraining::forward_layer(Stream& stream, Phase phase, std::size_t layer,
                                          void* stream_in, void* branch_in) {
  const TransformerShape& shape = plan_.shape;
  const LayerParameters& p = parameters_.layers[layer];
  const LayerActivations& a = activations_.layers[layer];
  const BlockMatrices matrices = matrices_of(layer);
  const std::int64_t n = plan_.tokens(), c = shape.width;
  void* const branch = active(activations_.branch);
  void* const input = layer > 0 ? active(activations_.layers[layer - 1].result) : stream_in;
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, phase, name, std::move(queued));
  };
  TRY(done("norm", norm_->forward(stream, active(a.normed1), statistic(a.statistics1), input,
                                  stream_in, branch_in, weight(p.norm1_weight),
                                  weight_or_null(p.norm1_bias), {n, c})));
  TRY(multiply_adapted(stream, phase, "qkv", active(a.qkv), active(a.normed1), matrices.qkv,
                       {a.qkv_ranks, adapters_.layers[layer].qkv}));
  TRY(rotate(stream, phase, layer));
  TRY(done("attention", attention_->forward(stream, active(a.attended), attention_input(a),
                                            attention_memory(a), attention_shape())));
  TRY(multiply_adapted(stream, phase, "proj", branch, active(a.attended), matrices.proj,
                       {a.proj_ranks, adapters_.layers[layer].proj}));
  TRY(done("norm", norm_->forward(stream, active(a.normed2), statistic(a.statistics2),
                                  active(a.middle), input, branch, weight(p.norm2_weight),
                                  weight_or_null(p.norm2_bias), {n, c})));
  return forward_perceptron(stream, phase, layer);
}

/// Computes the activation's result from that of the block's second norm.
Status TransformerTraining::forward_perceptron(Stream& stream, Phase phase, std::size_t layer) {
  const LayerActivations& a = activations_.layers[layer];
  const BlockMatrices matrices = matrices_of(layer);
  if (!parameters_.gated) {
    return multiply_gelu(stream, phase, "fc", active(a.hidden), active(a.before_activation),
                         active(a.normed2), matrices.up);
  }
  TRY(multiply_adapted(stream, phase, "gate_up", active(a.before_activation), active(a.normed2),
                       matrices.up, {a.up_ranks, adapters_.layers[layer].up}));
  return activate(stream, phase, layer);
}

/// Computes the result of a norm from its input.
Status TransformerTraining::norm_again(Stream& stream, const Tensor& normed,
                                       const Tensor& statistics, void* input, const Tensor& weight,
                                       const Tensor& bias) {
  return timed(stream, Phase::backward, "norm",
               norm_->forward(stream, active(normed), statistic(statistics), nullptr, input,
                              nullptr, this->weight(weight), weight_or_null(bias),
                              {plan_.tokens(), plan_.shape.width}));
}

/// Norms and rotates the heads of queries and keys, if the model does, for attention_input().
Status TransformerTraining::rotate(Stream& stream, Phase phase, std::size_t layer) {
  if (!rotation_) return {};
  return timed(stream, phase, "rotation",
               rotation_->forward(stream, active(activations_.rotated),
                                  active(activations_.layers[layer].qkv), head_norms(layer),
                                  attention_shape()));
}

/// Computes the activation from what is before it.
Status TransformerTraining::activate(Stream& stream, Phase phase, std::size_t layer) {
  const LayerActivations& a = activations_.layers[layer];
  const std::int64_t n = plan_.tokens(), f = plan_.shape.hidden;
  void* const before = active(a.before_activation);
  if (parameters_.gated) {
    return timed(
        stream, phase, "swiglu",
        activation_functions_->swiglu(stream, active(a.hidden), before, n, f,
                                      scale(activations_.fp8.layers[layer].down.input_scale)));
  }
  return timed(stream, phase, "gelu",
               activation_functions_->gelu(stream, active(a.hidden), before, n * f));
}

/// What block `layer` adds to the stream, into `branch`.
Status TransformerTraining::leave_branch(Stream& stream, std::size_t layer) {
  const LayerActivations& a = activations_.layers[layer];
  return multiply_adapted(stream, Phase::forward, parameters_.gated ? "down" : "fc2",
                          active(activations_.branch), active(a.hidden), matrices_of(layer).down,
                          {a.down_ranks, adapters_.layers[layer].down});
}

Status TransformerTraining::backward(Stream& stream, BatchChoice choice, std::uint64_t number) {
  if (frozen()) TRY(enter(stream, Phase::backward, all_adapters));
  TRY(backward_head(stream, choice, number));
  for (std::size_t i = activations_.layers.size(); i-- > 0;) {
    TRY(enter_part(stream, Phase::backward, section_of(i)));
    const bool add = adds_to_part(section_of(i), number);
    if (i + 1 == activations_.layers.size()) TRY(backward_last_norm(stream, add));
    if (plan_.recompute == Recompute::layer) {
      TRY(forward_layer(stream, Phase::backward, i, input_of(i), nullptr));
    }
    TRY(backward_perceptron(stream, i, add));
    TRY(backward_attention(stream, i, add));
    if (i == 0) TRY(send_lookups(stream, number));
    TRY(weight_gradient(stream, "qkv_weight", active(activations_.qkv_gradient),
                        active(activations_.layers[i].normed1), matrices_of(i).qkv, add));
    TRY(leave_part(stream, Phase::backward, section_of(i)));
  }
  return backward_embedding(stream, choice, number);
}

/// Continues from the gradients of the logits to that of the last norm's result, in
/// branch_gradient. The gradient of a tied head is the first part of the embedding's. If the logits
/// are cut into parts, each part is computed here, because its gradients take its place.
Status TransformerTraining::backward_head(Stream& stream, BatchChoice choice,
                                          std::uint64_t number) {
  const std::int64_t c = plan_.shape.width;
  void* const d_logits = active(activations_.logits);
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::backward, name, std::move(queued));
  };
  if (!parameters_.tied) TRY(enter_part(stream, Phase::backward, head_section()));
  const bool add = adds_to_part(head_section(), number);
  TRY(for_parts_of_logits([&](std::int64_t first, std::int64_t rows) -> Status {
    const LinearShape head = {rows, plan_.shape.padded_vocabulary(), c};
    if (plan_.cuts_logits()) {
      TRY(logits_and_losses(stream, Phase::backward, batches_, choice, first, rows));
    }
    TRY(done("head_input",
             linear_->input_gradient(stream, rows_from(activations_.branch_gradient, first, c),
                                     d_logits, weight(parameters_.head), head)));
    if (frozen()) return {};
    return done(
        "head_weight",
        linear_->weight_gradient(stream, gradient(parameters_.head), d_logits,
                                 rows_from(activations_.normed, first, c), head, add || first > 0));
  }));
  if (plan_.cuts_logits()) {
    TRY(done("loss", record_losses(stream, losses_of_tokens(), choice, number)));
  }
  if (!parameters_.tied) {
    TRY(leave_part(stream, Phase::backward, head_section()));
  }
  return send_embedding_without_lookups(stream, number);
}

/// Continues from the gradient of the last norm's result to that of the stream before it.
Status TransformerTraining::backward_last_norm(Stream& stream, bool add) {
  return timed(stream, Phase::backward, "norm",
               norm_->backward(
                   stream, *column_sums_,
                   {.input = active(activations_.stream_gradient),
                    .weight = gradient_or_null(parameters_.norm_weight),
                    .bias = gradient_or_null(parameters_.norm_bias),
                    .bias_before = gradient_or_null(parameters_.layers.back().down_bias),
                    .add_input = false,
                    .add_parameters = add},
                   active(activations_.branch_gradient), active(activations_.layers.back().result),
                   statistic(activations_.statistics), weight(parameters_.norm_weight),
                   scratch_.data(), {plan_.tokens(), plan_.shape.width}));
}

/// Continues from the gradient of the block's result in stream_gradient, which is also that of the
/// perceptron's result, to that of the stream before the perceptron, in the same place. A norm's
/// gradients come with that of the bias before it.
Status TransformerTraining::backward_perceptron(Stream& stream, std::size_t layer, bool add) {
  const TransformerShape& shape = plan_.shape;
  const LayerParameters& p = parameters_.layers[layer];
  const LayerActivations& a = activations_.layers[layer];
  const BlockMatrices matrices = matrices_of(layer);
  const std::int64_t n = plan_.tokens(), c = shape.width, f = shape.hidden;
  void* const d_stream = active(activations_.stream_gradient);
  void* const d_branch = active(activations_.branch_gradient);
  void* const d_hidden = active(activations_.hidden_gradient);
  void* const d_before = before_gradient(a);
  const LoraLayer& adapters = adapters_.layers[layer];
  const bool gated = parameters_.gated;
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::backward, name, std::move(queued));
  };
  const auto norm2_again = [&] {
    return norm_again(stream, a.normed2, a.statistics2, active(a.middle), p.norm2_weight,
                      p.norm2_bias);
  };
  if (plan_.recompute == Recompute::perceptron) {
    TRY(norm2_again());
    TRY(forward_perceptron(stream, Phase::backward, layer));
  } else if (plan_.recompute == Recompute::activation || plan_.recompute == Recompute::selective) {
    TRY(activate(stream, Phase::backward, layer));
  }
  TRY(quantize_input_again(stream, active(a.hidden), matrices.down));
  TRY(quantize_gradient(stream, d_stream, matrices.down));
  TRY(weight_gradient(stream, gated ? "down_weight" : "fc2_weight", d_stream, active(a.hidden),
                      matrices.down, add));
  if (gated) {
    // The forward pass of the blocks after this one has overwritten what all blocks share.
    if (plan_.recompute == Recompute::layer && !adapters.down.parts.empty()) {
      TRY(done("adapters", low_rank_->project(stream, active(a.down_ranks), active(a.hidden),
                                              low_rank_group(adapters.down))));
    }
    TRY(input_gradient_adapted(stream, "down_input", d_hidden, d_stream, active(a.hidden),
                               matrices.down, {a.down_ranks, adapters.down}, add));
    TRY(done("swiglu", activation_functions_->swiglu_backward(
                           stream, d_before, d_hidden, active(a.before_activation), n, f,
                           scale(matrices.up.fp8.gradient_scale))));
  } else {
    TRY(input_gradient_gelu(stream, "fc2_input", d_before, d_stream, active(a.before_activation),
                            matrices.down));
  }
  TRY(bias_gradient(stream, p.up_bias, d_before, add));
  TRY(quantize_gradient(stream, d_before, matrices.up));
  if (plan_.recompute == Recompute::selective && !plan_.keeps_inputs_as_codes()) {
    TRY(norm2_again());
  }
  TRY(weight_gradient(stream, gated ? "gate_up_weight" : "fc_weight", d_before, active(a.normed2),
                      matrices.up, add));
  TRY(input_gradient_adapted(stream, gated ? "gate_up_input" : "fc_input", d_branch, d_before,
                             active(a.normed2), matrices.up, {a.up_ranks, adapters.up}, add));
  return done("norm", norm_->backward(stream, *column_sums_,
                                      {.input = d_stream,
                                       .weight = gradient_or_null(p.norm2_weight),
                                       .bias = gradient_or_null(p.norm2_bias),
                                       .bias_before = gradient_or_null(p.proj_bias),
                                       .add_input = true,
                                       .add_parameters = add},
                                      d_branch, active(a.middle), statistic(a.statistics2),
                                      weight(p.norm2_weight), scratch_.data(), {n, c}));
}

/// Continues through attention in the same way; the gradient of qkv's weight is left.
Status TransformerTraining::backward_attention(Stream& stream, std::size_t layer, bool add) {
  const LayerParameters& p = parameters_.layers[layer];
  const LayerActivations& a = activations_.layers[layer];
  const BlockMatrices matrices = matrices_of(layer);
  const std::int64_t n = plan_.tokens(), c = plan_.shape.width;
  void* const d_stream = active(activations_.stream_gradient);
  void* const d_branch = active(activations_.branch_gradient);
  void* const d_qkv = active(activations_.qkv_gradient);
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::backward, name, std::move(queued));
  };
  const LoraLayer& adapters = adapters_.layers[layer];
  TRY(quantize_input_again(stream, active(a.attended), matrices.proj));
  TRY(quantize_gradient(stream, d_stream, matrices.proj));
  TRY(weight_gradient(stream, "proj_weight", d_stream, active(a.attended), matrices.proj, add));
  TRY(input_gradient_adapted(stream, "proj_input", d_branch, d_stream, active(a.attended),
                             matrices.proj, {a.proj_ranks, adapters.proj}, add));
  if (plan_.recompute != Recompute::layer) TRY(rotate(stream, Phase::backward, layer));
  TRY(done("attention",
           attention_->backward(stream, d_qkv, d_branch, active(a.attended), attention_input(a),
                                attention_memory(a), attention_shape())));
  if (rotation_) {
    TRY(done("rotation",
             rotation_->backward(stream, *column_sums_, d_qkv,
                                 {gradient_or_null(p.query_norm), gradient_or_null(p.key_norm)},
                                 active(a.qkv), head_norms(layer), scratch_.data(),
                                 attention_shape(), add)));
  }
  TRY(bias_gradient(stream, p.qkv_bias, d_qkv, add));
  const bool has_norm = plan_.recompute < Recompute::selective ||
                        plan_.recompute == Recompute::layer || plan_.keeps_inputs_as_codes();
  if (!has_norm) {
    TRY(norm_again(stream, a.normed1, a.statistics1, input_of(layer), p.norm1_weight,
                   p.norm1_bias));
  }
  if (frozen() && layer == 0) {  // nothing before it is trained
    return adapters_backward(stream, nullptr, d_qkv, active(a.normed1), {a.qkv_ranks, adapters.qkv},
                             add);
  }
  TRY(quantize_gradient(stream, d_qkv, matrices.qkv));
  TRY(input_gradient_adapted(stream, "qkv_input", d_branch, d_qkv, active(a.normed1), matrices.qkv,
                             {a.qkv_ranks, adapters.qkv}, add));
  // The bias before this norm is the last one of the block before.
  if (layer > 0 && !frozen()) TRY(open_gradients(stream, section_of(layer - 1)));
  void* const d_bias_before =
      layer > 0 ? gradient_or_null(parameters_.layers[layer - 1].down_bias) : nullptr;
  return done("norm", norm_->backward(stream, *column_sums_,
                                      {.input = d_stream,
                                       .weight = gradient_or_null(p.norm1_weight),
                                       .bias = gradient_or_null(p.norm1_bias),
                                       .bias_before = d_bias_before,
                                       .add_input = true,
                                       .add_parameters = add},
                                      d_branch, input_of(layer), statistic(a.statistics1),
                                      weight(p.norm1_weight), scratch_.data(), {n, c}));
}

Status TransformerTraining::bias_gradient(Stream& stream, const Tensor& bias, const void* dy,
                                          bool add) {
  if (bias.elements() == 0 || frozen()) return {};
  return timed(stream, Phase::backward, "bias",
               column_sums_->of(stream, gradient(bias), dy, scratch_.data(),
                                {plan_.tokens(), bias.columns}, add));
}

Status TransformerTraining::backward_embedding(Stream& stream, BatchChoice choice,
                                               std::uint64_t number) {
  if (frozen()) return leave(stream, Phase::backward, all_adapters);
  if (gathers_rows(number)) return add_lookups(stream, number);
  const bool add = number > 0;
  if (!add && !parameters_.tied) TRY(clear_gradient(stream, parameters_.embedding));
  TRY(timed(stream, Phase::backward, "embedding",
            embedding_->backward(stream, gradient(parameters_.embedding),
                                 gradient_or_null(parameters_.positions),
                                 active(activations_.stream_gradient), batches_, choice,
                                 plan_.sequence, plan_.shape.width, add)));
  TRY(clear_gaps(stream, embeddings));
  return close_gradients(stream, embeddings);
}

// ---- Looked-up rows of the embedding that all ranks gather ----

/// In the pass that gathers rows, what the embeddings lack after the head is only what was looked
/// up: few rows. So their gradients are sent before the blocks.
Status TransformerTraining::send_embedding_without_lookups(Stream& stream, std::uint64_t number) {
  if (!gathers_rows(number)) return {};
  if (number == 0) TRY(clear_gradient(stream, parameters_.positions));
  return send_gradients(stream, embeddings);
}

/// Sends this rank's rows while something is left to compute.
Status TransformerTraining::send_lookups(Stream& stream, std::uint64_t number) {
  if (!gathers_rows(number)) return {};
  lookups_ = TRY(gather_rows(stream, active(activations_.stream_gradient)));
  return {};
}

/// Adds the rows of all ranks, in the order of the ranks, to the sums over ranks of everything
/// else.
Status TransformerTraining::add_lookups(Stream& stream, std::uint64_t number) {
  const std::int64_t c = plan_.shape.width;
  const std::size_t bytes_of_one = static_cast<std::size_t>(plan_.tokens() * c) * element_;
  const auto* rows = static_cast<const std::byte*>(lookups_);
  TRY(take_rows(stream));
  for (int rank = 0; rank < ranks(); ++rank) {
    if (!has_rows_of(rank)) continue;
    TRY(timed(stream, Phase::backward, "embedding",
              embedding_->backward(stream, gradient(parameters_.embedding),
                                   gradient_or_null(parameters_.positions), rows, batches_,
                                   choose_batch_of(rank, number, batches_.batches), plan_.sequence,
                                   c, true)));
    rows += bytes_of_one;
  }
  return {};
}

Status TransformerTraining::clear_gaps(Stream& stream, std::size_t section) {
  if (!activations_.before_gradients) return {};
  const Section whole = parameters_.sections[section];
  auto* const gradients =
      static_cast<std::byte*>(arenas().section_in_pass(ParameterPart::gradients, section).address);
  std::size_t written = whole.begin;
  const auto clear_until = [&](std::size_t offset) -> Status {
    const std::size_t first = std::exchange(written, offset);
    if (first == offset) return {};
    return stream.fill(gradients + (first - whole.begin) * element_, 0,
                       (offset - first) * element_);
  };
  for (const NamedTensor& named : tensors()) {
    const Tensor& tensor = named.tensor;
    if (tensor.offset < whole.begin || tensor.offset >= whole.end) continue;
    TRY(clear_until(tensor.offset));
    written += static_cast<std::size_t>(tensor.elements());
  }
  return clear_until(whole.end);
}

Status TransformerTraining::clear_gradient(Stream& stream, const Tensor& tensor) {
  if (tensor.elements() == 0) return {};
  return stream.fill(gradient(tensor), 0, static_cast<std::size_t>(tensor.elements()) * element_);
}

}  // namespace assay
