#include "model/training/gpt_training.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

#include "core/hash.h"
#include "model/operations/norm_shape.h"
#include "model/tensors/weights.h"
#include "model/training/gpt_attention.h"

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

Status GptTraining::pass(Stream& stream, std::uint64_t number) {
  const BatchChoice choice = choose_batch(number, batches_.batches);
  TRY(forward(stream, batches_, choice));
  TRY(timed(stream, Phase::forward, "loss",
            record_losses(stream, losses_of_tokens(), choice, number)));
  return backward(stream, choice, number);
}

Result<Training::Losses> GptTraining::held_back_pass(Stream& stream, BatchChoice choice) {
  TRY(forward(stream, held_back_, choice));
  return losses_of_tokens();
}

Status GptTraining::forward(Stream& stream, const DeviceBatches& data, BatchChoice choice) {
  const GptShape& shape = plan_.shape;
  const std::int64_t n = plan_.tokens(), c = shape.width;
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::forward, name, std::move(queued));
  };
  TRY(open_weights(stream, Phase::forward, embeddings));
  TRY(done("embedding",
           embedding_->forward(stream, active(activations_.embedded), weight(parameters_.embedding),
                               weight(parameters_.positions), data, choice, plan_.sequence, c)));
  // A block leaves what it adds to the stream in `branch`; the next norm adds it.
  void* stream_in = active(activations_.embedded);
  void* branch_in = nullptr;
  for (std::size_t i = 0; i < activations_.layers.size(); ++i) {
    TRY(open_weights(stream, Phase::forward, section_of(i)));
    TRY(forward_layer(stream, Phase::forward, i, stream_in, branch_in));
    TRY(leave_branch(stream, i));
    if (i + 1 < activations_.layers.size()) TRY(close_weights(stream, section_of(i)));
    stream_in = active(activations_.layers[i].middle);
    branch_in = active(activations_.branch);
  }
  void* const last = active(activations_.layers.back().result);
  TRY(done("norm",
           norm_->forward(stream, active(activations_.normed), statistic(activations_.statistics),
                          last, stream_in, branch_in, weight(parameters_.norm_weight),
                          weight(parameters_.norm_bias), {n, c})));
  TRY(close_weights(stream, parameters_.sections.size() - 1));
  TRY(done("head", linear_->forward(stream, active(activations_.logits),
                                    active(activations_.normed), weight(parameters_.embedding),
                                    nullptr, {n, shape.padded_vocabulary(), c})));
  return done("loss", cross_entropy_->forward_backward(
                          stream, active(activations_.logits), losses_.data(), data, choice,
                          shape.vocabulary, shape.padded_vocabulary()));
}

/// Block `layer` up to the GELU, all that backward needs of it. Its input is stream_in + branch_in;
/// the sum is kept as the result of the block before it.
Status GptTraining::forward_layer(Stream& stream, Phase phase, std::size_t layer, void* stream_in,
                                  void* branch_in) {
  const GptShape& shape = plan_.shape;
  const GptLayerParameters& p = parameters_.layers[layer];
  const GptLayerActivations& a = activations_.layers[layer];
  const std::int64_t n = plan_.tokens(), c = shape.width, f = shape.hidden;
  void* const branch = active(activations_.branch);
  void* const input = layer > 0 ? active(activations_.layers[layer - 1].result) : stream_in;
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, phase, name, std::move(queued));
  };
  TRY(done("norm",
           norm_->forward(stream, active(a.normed1), statistic(a.statistics1), input, stream_in,
                          branch_in, weight(p.norm1_weight), weight(p.norm1_bias), {n, c})));
  TRY(done("qkv", linear_->forward(stream, active(a.qkv), active(a.normed1), weight(p.qkv),
                                   weight_or_null(p.qkv_bias), {n, 3 * c, c})));
  TRY(done("attention", attention_->forward(stream, active(a.attended), active(a.qkv),
                                            attention_memory(a), attention_shape())));
  TRY(done("proj", linear_->forward(stream, branch, active(a.attended), weight(p.proj),
                                    weight_or_null(p.proj_bias), {n, c, c})));
  TRY(done("norm",
           norm_->forward(stream, active(a.normed2), statistic(a.statistics2), active(a.middle),
                          input, branch, weight(p.norm2_weight), weight(p.norm2_bias), {n, c})));
  return done("fc", linear_->forward_gelu(stream, active(a.hidden), active(a.before_gelu),
                                          active(a.normed2), weight(p.fc),
                                          weight_or_null(p.fc_bias), {n, f, c}));
}

/// What block `layer` adds to the stream, into `branch`.
Status GptTraining::leave_branch(Stream& stream, std::size_t layer) {
  const GptLayerParameters& p = parameters_.layers[layer];
  const GptLayerActivations& a = activations_.layers[layer];
  const LinearShape shape = {plan_.tokens(), plan_.shape.width, plan_.shape.hidden};
  return timed(stream, Phase::forward, "fc2",
               linear_->forward(stream, active(activations_.branch), active(a.hidden),
                                weight(p.fc2), weight_or_null(p.fc2_bias), shape));
}

Status GptTraining::backward(Stream& stream, BatchChoice choice, std::uint64_t number) {
  const GptShape& shape = plan_.shape;
  const std::int64_t n = plan_.tokens(), c = shape.width;
  const std::size_t last = activations_.layers.size() - 1;
  const bool add = number > 0;
  void* const d_normed = active(activations_.branch_gradient);
  void* const d_stream = active(activations_.stream_gradient);
  void* const d_logits = active(activations_.logits);
  const LinearShape head = {n, shape.padded_vocabulary(), c};
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::backward, name, std::move(queued));
  };
  TRY(done("head_input", linear_->input_gradient(stream, d_normed, d_logits,
                                                 weight(parameters_.embedding), head)));
  TRY(done("head_weight",
           linear_->weight_gradient(stream, gradient(parameters_.embedding), d_logits,
                                    active(activations_.normed), head, add)));
  const bool gathers = gathers_rows(number);
  const std::byte* rows = nullptr;
  if (gathers) {
    // Of the embeddings only what was looked up is missing, few rows, which are gathered at the
    // end.
    const Tensor& positions = parameters_.positions;
    if (!add) {
      TRY(stream.fill(gradient(positions), 0,
                      static_cast<std::size_t>(positions.elements()) * element_));
    }
    TRY(send_gradients(stream, embeddings));
  }
  TRY(open_weights(stream, Phase::backward, section_of(last)));
  TRY(open_gradients(stream, section_of(last)));
  TRY(done("norm",
           norm_->backward(stream,
                           {.input = d_stream,
                            .weight = gradient(parameters_.norm_weight),
                            .bias = gradient(parameters_.norm_bias),
                            .bias_before = gradient_or_null(parameters_.layers.back().fc2_bias),
                            .add_input = false,
                            .add_parameters = adds_gradients(section_of(last), number)},
                           d_normed, active(activations_.layers.back().result),
                           statistic(activations_.statistics), weight(parameters_.norm_weight),
                           scratch_.data(), {n, c})));
  for (std::size_t i = activations_.layers.size(); i-- > 0;) {
    if (i < last) TRY(open_weights(stream, Phase::backward, section_of(i)));
    const bool adds = adds_gradients(section_of(i), number);
    TRY(backward_layer(stream, i, adds));
    // While rows are on their way something is left to compute.
    if (gathers && i == 0) {
      rows = static_cast<const std::byte*>(TRY(gather_rows(stream, d_stream)));
    }
    TRY(weight_gradient_of_qkv(stream, i, adds));
    TRY(close_weights(stream, section_of(i)));
    TRY(close_gradients(stream, section_of(i)));
  }
  if (gathers) return add_lookups(stream, number, rows);
  TRY(done("embedding", embedding_->backward(stream, gradient(parameters_.embedding),
                                             gradient(parameters_.positions), d_stream, batches_,
                                             choice, plan_.sequence, c, add)));
  return close_gradients(stream, embeddings);
}

/// Those of all ranks, in the order of the ranks, to the sums over ranks of everything else.
Status GptTraining::add_lookups(Stream& stream, std::uint64_t number, const std::byte* rows) {
  const std::int64_t c = plan_.shape.width;
  const std::size_t bytes_of_one = static_cast<std::size_t>(plan_.tokens() * c) * element_;
  TRY(take_rows(stream));
  for (int rank = 0; rank < ranks(); ++rank) {
    if (!has_rows_of(rank)) continue;
    TRY(timed(stream, Phase::backward, "embedding",
              embedding_->backward(stream, gradient(parameters_.embedding),
                                   gradient(parameters_.positions), rows, batches_,
                                   choose_batch(number, batches_.batches, rank), plan_.sequence, c,
                                   true)));
    rows += bytes_of_one;
  }
  return {};
}

/// From the gradient of the block's result in stream_gradient, which is also that of what the block
/// added last, to that of its input in the same place. The norms' gradients come with those of the
/// biases before them; weight_gradient_of_qkv() is left.
Status GptTraining::backward_layer(Stream& stream, std::size_t layer, bool add) {
  const GptShape& shape = plan_.shape;
  const GptLayerParameters& p = parameters_.layers[layer];
  const GptLayerActivations& a = activations_.layers[layer];
  const std::int64_t n = plan_.tokens(), c = shape.width, f = shape.hidden;
  void* const d_stream = active(activations_.stream_gradient);
  void* const d_branch = active(activations_.branch_gradient);
  void* const d_hidden = active(activations_.hidden_gradient);
  void* const d_qkv = active(activations_.qkv_gradient);
  void* const scratch = scratch_.data();
  void* const input =
      layer > 0 ? active(activations_.layers[layer - 1].result) : active(activations_.embedded);
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::backward, name, std::move(queued));
  };
  const auto bias = [&](const Tensor& tensor, const void* dy) {
    if (!shape.bias) return Status();
    return done("bias",
                column_sums_->of(stream, gradient(tensor), dy, scratch, {n, tensor.columns}, add));
  };
  if (plan_.recompute == Recompute::layer)
    TRY(forward_layer(stream, Phase::backward, layer, input, nullptr));
  if (plan_.recompute == Recompute::gelu) {
    TRY(done("gelu",
             activation_functions_->gelu(stream, active(a.hidden), active(a.before_gelu), n * f)));
  }
  // The MLP.
  TRY(done("fc2_weight", linear_->weight_gradient(stream, gradient(p.fc2), d_stream,
                                                  active(a.hidden), {n, c, f}, add)));
  TRY(done("fc2_input", linear_->input_gradient_gelu(stream, d_hidden, d_stream, weight(p.fc2),
                                                     active(a.before_gelu), {n, c, f})));
  TRY(bias(p.fc_bias, d_hidden));
  TRY(done("fc_weight", linear_->weight_gradient(stream, gradient(p.fc), d_hidden,
                                                 active(a.normed2), {n, f, c}, add)));
  TRY(done("fc_input",
           linear_->input_gradient(stream, d_branch, d_hidden, weight(p.fc), {n, f, c})));
  TRY(done("norm", norm_->backward(stream,
                                   {.input = d_stream,
                                    .weight = gradient(p.norm2_weight),
                                    .bias = gradient(p.norm2_bias),
                                    .bias_before = gradient_or_null(p.proj_bias),
                                    .add_input = true,
                                    .add_parameters = add},
                                   d_branch, active(a.middle), statistic(a.statistics2),
                                   weight(p.norm2_weight), scratch, {n, c})));
  // Attention.
  TRY(done("proj_weight", linear_->weight_gradient(stream, gradient(p.proj), d_stream,
                                                   active(a.attended), {n, c, c}, add)));
  TRY(done("proj_input",
           linear_->input_gradient(stream, d_branch, d_stream, weight(p.proj), {n, c, c})));
  TRY(done("attention",
           attention_->backward(stream, d_qkv, d_branch, active(a.attended), active(a.qkv),
                                attention_memory(a), attention_shape())));
  TRY(bias(p.qkv_bias, d_qkv));
  TRY(done("qkv_input",
           linear_->input_gradient(stream, d_branch, d_qkv, weight(p.qkv), {n, 3 * c, c})));
  if (layer > 0) TRY(open_gradients(stream, section_of(layer - 1)));
  return done(
      "norm",
      norm_->backward(
          stream,
          {.input = d_stream,
           .weight = gradient(p.norm1_weight),
           .bias = gradient(p.norm1_bias),
           .bias_before =
               layer > 0 ? gradient_or_null(parameters_.layers[layer - 1].fc2_bias) : nullptr,
           .add_input = true,
           .add_parameters = add},
          d_branch, input, statistic(a.statistics1), weight(p.norm1_weight), scratch, {n, c}));
}

Status GptTraining::weight_gradient_of_qkv(Stream& stream, std::size_t layer, bool add) {
  const std::int64_t n = plan_.tokens(), c = plan_.shape.width;
  const Tensor& qkv = parameters_.layers[layer].qkv;
  return timed(
      stream, Phase::backward, "qkv_weight",
      linear_->weight_gradient(stream, gradient(qkv), active(activations_.qkv_gradient),
                               active(activations_.layers[layer].normed1), {n, 3 * c, c}, add));
}

// ---- Before the first step ----

GptTraining::GptTraining(Device& device, Stream& stream, const GptSettings& settings)
    : Training(device, stream, settings, settings.plan),
      plan_(settings.plan),
      fuse_gelu_(settings.fuse_gelu),
      parameters_(GptParameters::of(plan_.shape, plan_.parallel.ranks)),
      activations_(GptActivations::of(plan_)) {}

Result<std::unique_ptr<GptTraining>> GptTraining::create(Device& device, Stream& stream,
                                                         const GptSettings& settings,
                                                         const TokenBatches& batches,
                                                         const TokenBatches& held_back) {
  TRY(validate(settings.plan.shape));
  TRY(validate_norm(settings.plan.shape.width));
  if (settings.plan.shape.positions < settings.plan.sequence) {
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
  auto made = std::unique_ptr<GptTraining>(new GptTraining(device, stream, settings));
  TRY(made->allocate_arenas(stream));
  made->data_hash_ = hash_of(batches) + hash_of(held_back);
  made->batches_ = TRY(DeviceBatches::upload(device, stream, batches));
  if (held_back.batches > 0) {
    made->held_back_ = TRY(DeviceBatches::upload(device, stream, held_back));
  }
  TRY(made->load_operations());
  TRY(made->restart(stream));
  return made;
}

Status GptTraining::allocate_arenas(Stream& stream) {
  TRY(check_memory(memory_of(plan_),
                   [&](std::uint64_t bytes) { return what_would_fit(plan_, bytes); }));
  TRY(allocate_parameters(stream, parameters_.named(), parameters_.sections,
                          GptParameters::kept_sections));
  TRY(allocate_rows(gathered_lookups(plan_)));
  TRY(allocate(active_, activations_.elements * element_));
  TRY(allocate(floats_, activations_.floats * sizeof(float)));
  TRY(allocate(losses_, static_cast<std::uint64_t>(plan_.tokens()) * sizeof(float)));
  return allocate(scratch_, scratch_bytes(plan_));
}

Status GptTraining::load_operations() {
  const DataType type = plan_.type, precision = training_.precision;
  embedding_ = TRY(Embedding::create(device_, type));
  column_sums_ = TRY(ColumnSums::create(device_, type));
  norm_ = TRY(LayerNorm::create(device_, type, *column_sums_));
  activation_functions_ = TRY(Activations::create(device_, type));
  linear_.emplace(plans_, *activation_functions_, precision, fuse_gelu_);
  attention_ = TRY(open_attention(device_, plans_, plan_, precision));
  cross_entropy_ = TRY(CrossEntropy::create(device_, type));
  return {};
}

bool GptTraining::can_fuse_gelu() {
  const std::int64_t n = plan_.tokens(), c = plan_.shape.width, f = plan_.shape.hidden;
  return linear_->can_fuse({n, f, c}, plan_.shape.bias, {n, c, f});
}

/// As GPT-2 has them: normal with deviation 0.02, projections back into the stream divided by
/// sqrt(2 L); norms are 1, biases and the vocabulary's padding 0.
Status GptTraining::write_initial_weights(Stream& stream) {
  constexpr double deviation = 0.02;
  const GptShape& shape = plan_.shape;
  const double into_stream = deviation / std::sqrt(2 * static_cast<double>(shape.layers));
  const GptParameters& p = parameters_;
  const GptParameters alone = GptParameters::of(shape);
  InitialWeights initial = TRY(InitialWeights::create(device_, stream, plan_.type, training_.seed));
  TRY(initial.normal(weight(p.embedding), alone.embedding, shape.vocabulary, deviation));
  TRY(initial.normal(weight(p.positions), alone.positions, deviation));
  TRY(keep_initial(stream, embeddings));
  for (std::size_t i = 0; i < p.layers.size(); ++i) {
    const GptLayerParameters &here = p.layers[i], &there = alone.layers[i];
    TRY(initial.ones(weight(here.norm1_weight), there.norm1_weight));
    TRY(initial.normal(weight(here.qkv), there.qkv, deviation));
    TRY(initial.normal(weight(here.proj), there.proj, into_stream));
    TRY(initial.ones(weight(here.norm2_weight), there.norm2_weight));
    TRY(initial.normal(weight(here.fc), there.fc, deviation));
    TRY(initial.normal(weight(here.fc2), there.fc2, into_stream));
    if (i + 1 == p.layers.size()) TRY(initial.ones(weight(p.norm_weight), alone.norm_weight));
    TRY(keep_initial(stream, section_of(i)));
  }
  return stream.synchronize();
}

// ---- Reading ----

std::uint64_t GptTraining::allocated_bytes() const {
  std::uint64_t bytes = Training::allocated_bytes() + attention_->allocated_bytes();
  for (const Buffer* buffer :
       {&active_, &floats_, &losses_, &scratch_, &batches_.data, &held_back_.data}) {
    bytes += buffer->bytes();
  }
  return bytes;
}

std::vector<std::pair<std::string, std::string>> GptTraining::notes() const {
  const std::string detail = attention_->detail();
  auto all = Training::notes();
  all.insert(all.begin(), {"attention", fmt::format("{}{}{}", name_of(plan_.attention),
                                                    detail.empty() ? "" : " ", detail)});
  return all;
}

AttentionMemory GptTraining::attention_memory(const GptLayerActivations& a) const {
  const bool plain = plan_.attention == AttentionWay::plain;
  return {.probabilities = plain ? active(a.probabilities) : nullptr,
          .log_sum = plain ? nullptr : statistic(a.log_sum),
          .scratch = scratch_.data()};
}

}  // namespace assay
