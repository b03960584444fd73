#include "model/training/transformer_training.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

#include "core/hash.h"
#include "model/operations/norm_shape.h"
#include "model/tensors/weights.h"
#include "model/training/training_attention.h"

namespace assay {
namespace {

std::string hash_of(const TokenBatches& batches) {
  const auto bytes = [](const std::vector<std::int32_t>& numbers) {
    const std::span<const std::byte> all = std::as_bytes(std::span(numbers));
    return std::string(reinterpret_cast<const char*>(all.data()), all.size());
  };
  return hash_of_parts(std::array{bytes(batches.tokens), bytes(batches.targets)});
}

}  // namespace

// ---- One pass, from top to bottom ----

Status TransformerTraining::pass(Stream& stream, std::uint64_t number) {
  const BatchChoice choice = choose_batch(number, batches_.batches);
  TRY(forward(stream, batches_, choice));
  TRY(timed(stream, Phase::forward, "loss",
            record_losses(stream, losses_of_tokens(), choice, number)));
  return backward(stream, choice, number);
}

Result<Training::Losses> TransformerTraining::held_back_pass(Stream& stream, BatchChoice choice) {
  TRY(forward(stream, held_back_, choice));
  return losses_of_tokens();
}

Status TransformerTraining::forward(Stream& stream, const DeviceBatches& data, BatchChoice choice) {
  const TransformerShape& shape = plan_.shape;
  const std::int64_t n = plan_.tokens(), c = shape.width;
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::forward, name, std::move(queued));
  };
  TRY(enter(stream, Phase::forward, embeddings));
  TRY(done(
      "embedding",
      embedding_->forward(stream, active(activations_.embedded), weight(parameters_.embedding),
                          weight_or_null(parameters_.positions), data, choice, plan_.sequence, c)));
  // A block leaves what it adds to the stream in `branch`; the next norm adds it.
  void* stream_in = active(activations_.embedded);
  void* branch_in = nullptr;
  for (std::size_t i = 0; i < activations_.layers.size(); ++i) {
    if (i > 0) TRY(leave(stream, Phase::forward, section_of(i - 1)));
    TRY(enter(stream, Phase::forward, section_of(i)));
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
  TRY(leave(stream, Phase::forward, section_of(activations_.layers.size() - 1)));
  if (!parameters_.tied) TRY(enter(stream, Phase::forward, head_section()));
  TRY(done("head",
           linear_->forward(stream, active(activations_.logits), active(activations_.normed),
                            weight(parameters_.head), nullptr, {n, shape.padded_vocabulary(), c})));
  if (!parameters_.tied) TRY(leave(stream, Phase::forward, head_section()));
  return done("loss", cross_entropy_->forward_backward(
                          stream, active(activations_.logits), losses_.data(), data, choice,
                          shape.vocabulary, shape.padded_vocabulary()));
}

/// Block `layer` up to its activation, all that backward needs of it. Its input is stream_in +
/// branch_in; the sum is kept as the result of the block before it.
Status TransformerTraining::forward_layer(Stream& stream, Phase phase, std::size_t layer,
                                          void* stream_in, void* branch_in) {
  const TransformerShape& shape = plan_.shape;
  const LayerParameters& p = parameters_.layers[layer];
  const LayerActivations& a = activations_.layers[layer];
  const std::int64_t n = plan_.tokens(), c = shape.width, q = shape.query_width();
  void* const branch = active(activations_.branch);
  void* const input = layer > 0 ? active(activations_.layers[layer - 1].result) : stream_in;
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, phase, name, std::move(queued));
  };
  TRY(done("norm", norm_->forward(stream, active(a.normed1), statistic(a.statistics1), input,
                                  stream_in, branch_in, weight(p.norm1_weight),
                                  weight_or_null(p.norm1_bias), {n, c})));
  TRY(done("qkv", linear_->forward(stream, active(a.qkv), active(a.normed1), weight(p.qkv),
                                   weight_or_null(p.qkv_bias), {n, shape.qkv_width(), c})));
  TRY(rotate(stream, phase, layer));
  TRY(done("attention", attention_->forward(stream, active(a.attended), attention_input(a),
                                            attention_memory(a), attention_shape())));
  TRY(done("proj", linear_->forward(stream, branch, active(a.attended), weight(p.proj),
                                    weight_or_null(p.proj_bias), {n, c, q})));
  TRY(done("norm", norm_->forward(stream, active(a.normed2), statistic(a.statistics2),
                                  active(a.middle), input, branch, weight(p.norm2_weight),
                                  weight_or_null(p.norm2_bias), {n, c})));
  const LinearShape up = {n, shape.up_width(), c};
  if (!parameters_.gated) {
    return done("fc", linear_->forward_gelu(stream, active(a.hidden), active(a.before_activation),
                                            active(a.normed2), weight(p.up),
                                            weight_or_null(p.up_bias), up));
  }
  TRY(done("gate_up", linear_->forward(stream, active(a.before_activation), active(a.normed2),
                                       weight(p.up), weight_or_null(p.up_bias), up)));
  return activate(stream, phase, layer);
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
    return timed(stream, phase, "swiglu",
                 activation_functions_->swiglu(stream, active(a.hidden), before, n, f));
  }
  return timed(stream, phase, "gelu",
               activation_functions_->gelu(stream, active(a.hidden), before, n * f));
}

/// What block `layer` adds to the stream, into `branch`.
Status TransformerTraining::leave_branch(Stream& stream, std::size_t layer) {
  const LayerParameters& p = parameters_.layers[layer];
  const LayerActivations& a = activations_.layers[layer];
  const LinearShape shape = {plan_.tokens(), plan_.shape.width, plan_.shape.hidden};
  return timed(stream, Phase::forward, parameters_.gated ? "down" : "fc2",
               linear_->forward(stream, active(activations_.branch), active(a.hidden),
                                weight(p.down), weight_or_null(p.down_bias), shape));
}

Status TransformerTraining::backward(Stream& stream, BatchChoice choice, std::uint64_t number) {
  TRY(backward_head(stream, number));
  for (std::size_t i = activations_.layers.size(); i-- > 0;) {
    TRY(enter(stream, Phase::backward, section_of(i)));
    const bool add = adds_gradients(section_of(i), number);
    if (i + 1 == activations_.layers.size()) TRY(backward_last_norm(stream, add));
    if (plan_.recompute == Recompute::layer) {
      TRY(forward_layer(stream, Phase::backward, i, input_of(i), nullptr));
    }
    TRY(backward_perceptron(stream, i, add));
    TRY(backward_attention(stream, i, add));
    if (i == 0) TRY(send_lookups(stream, number));
    TRY(weight_gradient_of_qkv(stream, i, add));
    TRY(leave(stream, Phase::backward, section_of(i)));
  }
  return backward_embedding(stream, choice, number);
}

/// Continues from the gradients of the logits to that of the last norm's result, in
/// branch_gradient. The gradient of a tied head is the first part of the embedding's.
Status TransformerTraining::backward_head(Stream& stream, std::uint64_t number) {
  const LinearShape head = {plan_.tokens(), plan_.shape.padded_vocabulary(), plan_.shape.width};
  void* const d_logits = active(activations_.logits);
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::backward, name, std::move(queued));
  };
  if (!parameters_.tied) TRY(enter(stream, Phase::backward, head_section()));
  TRY(done("head_input", linear_->input_gradient(stream, active(activations_.branch_gradient),
                                                 d_logits, weight(parameters_.head), head)));
  TRY(done("head_weight", linear_->weight_gradient(stream, gradient(parameters_.head), d_logits,
                                                   active(activations_.normed), head,
                                                   adds_gradients(head_section(), number))));
  if (!parameters_.tied) {
    TRY(leave(stream, Phase::backward, head_section()));
    if (number == 0) TRY(clear_gradient(stream, parameters_.embedding));
  }
  return send_embedding_without_lookups(stream, number);
}

/// Continues from the gradient of the last norm's result to that of the stream before it.
Status TransformerTraining::backward_last_norm(Stream& stream, bool add) {
  return timed(stream, Phase::backward, "norm",
               norm_->backward(
                   stream, *column_sums_,
                   {.input = active(activations_.stream_gradient),
                    .weight = gradient(parameters_.norm_weight),
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
  const std::int64_t n = plan_.tokens(), c = shape.width, f = shape.hidden;
  const LinearShape down = {n, c, f}, up = {n, shape.up_width(), c};
  void* const d_stream = active(activations_.stream_gradient);
  void* const d_branch = active(activations_.branch_gradient);
  void* const d_hidden = active(activations_.hidden_gradient);
  void* const d_before = active(activations_.before_activation_gradient);
  const bool gated = parameters_.gated;
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::backward, name, std::move(queued));
  };
  if (plan_.recompute == Recompute::activation) TRY(activate(stream, Phase::backward, layer));
  TRY(done(
      gated ? "down_weight" : "fc2_weight",
      linear_->weight_gradient(stream, gradient(p.down), d_stream, active(a.hidden), down, add)));
  if (gated) {
    TRY(done("down_input",
             linear_->input_gradient(stream, d_hidden, d_stream, weight(p.down), down)));
    TRY(done("swiglu", activation_functions_->swiglu_backward(stream, d_before, d_hidden,
                                                              active(a.before_activation), n, f)));
  } else {
    TRY(done("fc2_input", linear_->input_gradient_gelu(stream, d_before, d_stream, weight(p.down),
                                                       active(a.before_activation), down)));
  }
  TRY(bias_gradient(stream, p.up_bias, d_before, add));
  TRY(done(gated ? "gate_up_weight" : "fc_weight",
           linear_->weight_gradient(stream, gradient(p.up), d_before, active(a.normed2), up, add)));
  TRY(done(gated ? "gate_up_input" : "fc_input",
           linear_->input_gradient(stream, d_branch, d_before, weight(p.up), up)));
  return done("norm", norm_->backward(stream, *column_sums_,
                                      {.input = d_stream,
                                       .weight = gradient(p.norm2_weight),
                                       .bias = gradient_or_null(p.norm2_bias),
                                       .bias_before = gradient_or_null(p.proj_bias),
                                       .add_input = true,
                                       .add_parameters = add},
                                      d_branch, active(a.middle), statistic(a.statistics2),
                                      weight(p.norm2_weight), scratch_.data(), {n, c}));
}

/// Continues through attention in the same way; weight_gradient_of_qkv() is left.
Status TransformerTraining::backward_attention(Stream& stream, std::size_t layer, bool add) {
  const TransformerShape& shape = plan_.shape;
  const LayerParameters& p = parameters_.layers[layer];
  const LayerActivations& a = activations_.layers[layer];
  const std::int64_t n = plan_.tokens(), c = shape.width;
  const LinearShape proj = {n, c, shape.query_width()}, qkv = {n, shape.qkv_width(), c};
  void* const d_stream = active(activations_.stream_gradient);
  void* const d_branch = active(activations_.branch_gradient);
  void* const d_qkv = active(activations_.qkv_gradient);
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::backward, name, std::move(queued));
  };
  TRY(done("proj_weight", linear_->weight_gradient(stream, gradient(p.proj), d_stream,
                                                   active(a.attended), proj, add)));
  TRY(done("proj_input",
           linear_->input_gradient(stream, d_branch, d_stream, weight(p.proj), proj)));
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
  TRY(done("qkv_input", linear_->input_gradient(stream, d_branch, d_qkv, weight(p.qkv), qkv)));
  // The bias before this norm is the last one of the block before.
  if (layer > 0) TRY(open_gradients(stream, section_of(layer - 1)));
  void* const d_bias_before =
      layer > 0 ? gradient_or_null(parameters_.layers[layer - 1].down_bias) : nullptr;
  return done("norm", norm_->backward(stream, *column_sums_,
                                      {.input = d_stream,
                                       .weight = gradient(p.norm1_weight),
                                       .bias = gradient_or_null(p.norm1_bias),
                                       .bias_before = d_bias_before,
                                       .add_input = true,
                                       .add_parameters = add},
                                      d_branch, input_of(layer), statistic(a.statistics1),
                                      weight(p.norm1_weight), scratch_.data(), {n, c}));
}

Status TransformerTraining::bias_gradient(Stream& stream, const Tensor& bias, const void* dy,
                                          bool add) {
  if (bias.elements() == 0) return {};
  return timed(stream, Phase::backward, "bias",
               column_sums_->of(stream, gradient(bias), dy, scratch_.data(),
                                {plan_.tokens(), bias.columns}, add));
}

Status TransformerTraining::weight_gradient_of_qkv(Stream& stream, std::size_t layer, bool add) {
  const std::int64_t n = plan_.tokens(), c = plan_.shape.width;
  const Tensor& qkv = parameters_.layers[layer].qkv;
  return timed(stream, Phase::backward, "qkv_weight",
               linear_->weight_gradient(stream, gradient(qkv), active(activations_.qkv_gradient),
                                        active(activations_.layers[layer].normed1),
                                        {n, plan_.shape.qkv_width(), c}, add));
}

Status TransformerTraining::backward_embedding(Stream& stream, BatchChoice choice,
                                               std::uint64_t number) {
  if (gathers_rows(number)) return add_lookups(stream, number);
  const bool add = number > 0;
  TRY(timed(stream, Phase::backward, "embedding",
            embedding_->backward(stream, gradient(parameters_.embedding),
                                 gradient_or_null(parameters_.positions),
                                 active(activations_.stream_gradient), batches_, choice,
                                 plan_.sequence, plan_.shape.width, add)));
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
                                   choose_batch(number, batches_.batches, rank), plan_.sequence, c,
                                   true)));
    rows += bytes_of_one;
  }
  return {};
}

Status TransformerTraining::clear_gradient(Stream& stream, const Tensor& tensor) {
  if (tensor.elements() == 0) return {};
  return stream.fill(gradient(tensor), 0, static_cast<std::size_t>(tensor.elements()) * element_);
}

// ---- Before the first step ----

TransformerTraining::TransformerTraining(Device& device, Stream& stream,
                                         const TransformerSettings& settings)
    : Training(device, stream, settings, settings.plan),
      plan_(settings.plan),
      fuse_gelu_(settings.fuse_gelu),
      parameters_(TransformerParameters::of(plan_.shape, plan_.layout())),
      activations_(TrainingActivations::of(plan_)) {}

Result<std::unique_ptr<TransformerTraining>> TransformerTraining::create(
    Device& device, Stream& stream, const TransformerSettings& settings,
    const TokenBatches& batches, const TokenBatches& held_back) {
  TRY(validate(settings.plan.shape));
  const bool learned = settings.plan.shape.position == PositionKind::learned;
  if (learned && settings.plan.shape.positions < settings.plan.sequence) {
    return Error{ErrorKind::usage,
                 fmt::format("a sequence of {} is longer than the model's {} positions",
                             settings.plan.sequence, settings.plan.shape.positions)};
  }
  for (const TokenBatches* given : {&batches, &held_back}) {
    if (given->batches == 0 || given->tokens_per_batch == settings.plan.tokens()) continue;
    return Error{ErrorKind::usage,
                 fmt::format("batches of {} tokens do not fit {} sequences of {}",
                             given->tokens_per_batch, settings.plan.batch, settings.plan.sequence)};
  }
  auto made =
      std::unique_ptr<TransformerTraining>(new TransformerTraining(device, stream, settings));
  TRY(made->allocate_arenas(stream));
  made->data_hash_ = hash_of(batches) + hash_of(held_back);
  made->batches_ = TRY(DeviceBatches::upload(device, stream, batches));
  if (held_back.batches > 0) {
    made->held_back_ = TRY(DeviceBatches::upload(device, stream, held_back));
  }
  TRY(made->load_operations(stream));
  TRY(made->restart(stream));
  return made;
}

Status TransformerTraining::allocate_arenas(Stream& stream) {
  TRY(check_memory(memory_of(plan_),
                   [&](std::uint64_t bytes) { return what_would_fit(plan_, bytes); }));
  TRY(allocate_parameters(stream, parameters_.named(), parameters_.sections,
                          TransformerParameters::kept_sections));
  TRY(allocate_rows(gathered_lookups(plan_)));
  TRY(allocate(active_, activations_.elements * element_));
  TRY(allocate(floats_, activations_.floats * sizeof(float)));
  TRY(allocate(losses_, static_cast<std::uint64_t>(plan_.tokens()) * sizeof(float)));
  return allocate(scratch_, scratch_bytes(plan_));
}

Status TransformerTraining::load_operations(Stream& stream) {
  const TransformerShape& shape = plan_.shape;
  const DataType type = plan_.type, precision = training_.precision;
  embedding_ = TRY(Embedding::create(device_, type));
  column_sums_ = TRY(ColumnSums::create(device_, type));
  norm_ = shape.norm == NormKind::layer ? TRY(Norm::layer(device_, type))
                                        : TRY(Norm::rms(device_, type, shape.norm_epsilon));
  if (shape.changes_heads()) {
    rotation_ = TRY(HeadRotation::create(device_, stream, type, rotary_frequencies(shape),
                                         plan_.sequence, shape.norm_epsilon));
  }
  activation_functions_ = TRY(Activations::create(device_, type));
  linear_.emplace(plans_, *activation_functions_, precision, fuse_gelu_);
  attention_ = TRY(open_attention(device_, plans_, plan_, precision));
  cross_entropy_ = TRY(CrossEntropy::create(device_, type));
  return {};
}

bool TransformerTraining::can_fuse_gelu() {
  if (parameters_.gated) return false;
  const std::int64_t n = plan_.tokens(), c = plan_.shape.width, f = plan_.shape.hidden;
  return linear_->can_fuse({n, f, c}, plan_.shape.has_all_biases(), {n, c, f});
}

/// Weights begin as in GPT-2: normal with deviation 0.02, projections back into the stream divided
/// by sqrt(2 L); norms are 1, biases and the vocabulary's padding 0.
Status TransformerTraining::write_initial_weights(Stream& stream) {
  constexpr double deviation = 0.02;
  const TransformerShape& shape = plan_.shape;
  const double into_stream = deviation / std::sqrt(2 * static_cast<double>(shape.layers));
  const TransformerParameters& p = parameters_;
  const TransformerParameters alone = TransformerParameters::of(shape);
  InitialWeights initial = TRY(InitialWeights::create(device_, stream, plan_.type, training_.seed));
  TRY(initial.normal(weight(p.embedding), alone.embedding, shape.vocabulary, deviation));
  if (p.positions.elements() > 0) {
    TRY(initial.normal(weight(p.positions), alone.positions, deviation));
  }
  TRY(keep_initial(stream, embeddings));
  for (std::size_t i = 0; i < p.layers.size(); ++i) {
    const LayerParameters &here = p.layers[i], &there = alone.layers[i];
    TRY(initial.ones(weight(here.norm1_weight), there.norm1_weight));
    TRY(initial.normal(weight(here.qkv), there.qkv, deviation));
    if (shape.head_norms) {
      TRY(initial.ones(weight(here.query_norm), there.query_norm));
      TRY(initial.ones(weight(here.key_norm), there.key_norm));
    }
    TRY(initial.normal(weight(here.proj), there.proj, into_stream));
    TRY(initial.ones(weight(here.norm2_weight), there.norm2_weight));
    TRY(initial.normal(weight(here.up), there.up, deviation));
    TRY(initial.normal(weight(here.down), there.down, into_stream));
    if (i + 1 == p.layers.size()) TRY(initial.ones(weight(p.norm_weight), alone.norm_weight));
    TRY(keep_initial(stream, section_of(i)));
  }
  if (!p.tied) {
    TRY(initial.normal(weight(p.head), alone.head, shape.vocabulary, deviation));
    TRY(keep_initial(stream, head_section()));
  }
  return stream.synchronize();
}

// ---- Reading ----

std::uint64_t TransformerTraining::allocated_bytes() const {
  std::uint64_t bytes = Training::allocated_bytes() + attention_->allocated_bytes();
  if (rotation_) bytes += rotation_->allocated_bytes();
  for (const Buffer* buffer :
       {&active_, &floats_, &losses_, &scratch_, &batches_.data, &held_back_.data}) {
    bytes += buffer->bytes();
  }
  return bytes;
}

std::vector<std::pair<std::string, std::string>> TransformerTraining::notes() const {
  const std::string detail = attention_->detail();
  auto all = Training::notes();
  all.insert(all.begin(), {"attention", fmt::format("{}{}{}", name_of(plan_.attention),
                                                    detail.empty() ? "" : " ", detail)});
  return all;
}

AttentionMemory TransformerTraining::attention_memory(const LayerActivations& a) const {
  const bool plain = plan_.attention == AttentionWay::plain;
  return {.probabilities = plain ? active(a.probabilities) : nullptr,
          .log_sum = plain ? nullptr : statistic(a.log_sum),
          .scratch = scratch_.data()};
}

}  // namespace assay
