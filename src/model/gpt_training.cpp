#include "model/gpt_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "compute/device/helpers.h"
#include "core/units.h"
#include "model/gpt_weights.h"

namespace assay {
namespace {

GemmPlans::Options product_options(const TrainingSettings& settings) {
  GemmPlans::Options options;
  options.measure = settings.measured_products;
  options.own_if_none = true;
  return options;
}

}  // namespace

std::vector<float> warmup_and_cosine(float peak, std::int64_t warmup, std::int64_t steps) {
  constexpr float least = 0.1f;
  std::vector<float> rates;
  for (std::int64_t i = 0; i < steps; ++i) {
    if (i < warmup) {
      rates.push_back(peak * static_cast<float>(i + 1) / static_cast<float>(warmup + 1));
      continue;
    }
    const double done = static_cast<double>(i - warmup) / static_cast<double>(steps - warmup);
    const double share = least + (1 - least) * (1 + std::cos(std::numbers::pi * done)) / 2;
    rates.push_back(static_cast<float>(peak * share));
  }
  return rates;
}

// ---- One step, from top to bottom ----

Status GptTraining::step(Stream& stream, OperationClock* clock) {
  clock_ = clock;
  Status queued = timed(stream, Phase::forward, "", Status());
  for (std::int64_t i = 0; queued.ok() && i < settings_.accumulate; ++i) {
    queued = pass(stream, static_cast<std::uint64_t>(i));
  }
  if (queued.ok()) {
    queued = timed(stream, Phase::update, "optimizer",
                   update_->update(stream, arenas(), state_.as<StepState>()));
  }
  clock_ = nullptr;
  return queued;
}

Status GptTraining::timed(Stream& stream, Phase phase, std::string_view name, Status queued) {
  TRY(std::move(queued));
  return clock_ != nullptr ? clock_->mark(stream, phase, name) : Status();
}

Status GptTraining::pass(Stream& stream, std::uint64_t number) {
  const BatchChoice choice = {state_.as<StepState>(), std::uint64_t(batches_.batches),
                              std::uint64_t(settings_.accumulate), number};
  TRY(forward(stream, choice));
  return backward(stream, choice);
}

Status GptTraining::forward(Stream& stream, BatchChoice choice) {
  const GptShape& shape = plan_.shape;
  const std::int64_t n = plan_.tokens(), c = shape.width;
  const auto done = [&](std::string_view name, Status queued) {
    return timed(stream, Phase::forward, name, std::move(queued));
  };
  TRY(done("embedding", embedding_->forward(
                            stream, active(activations_.embedded), weight(parameters_.embedding),
                            weight(parameters_.positions), batches_, choice, plan_.sequence, c)));
  // A block leaves what it adds to the stream in `branch`; the next norm adds it.
  void* stream_in = active(activations_.embedded);
  void* branch_in = nullptr;
  for (std::size_t i = 0; i < activations_.layers.size(); ++i) {
    TRY(forward_layer(stream, Phase::forward, i, stream_in, branch_in));
    TRY(leave_branch(stream, i));
    stream_in = active(activations_.layers[i].middle);
    branch_in = active(activations_.branch);
  }
  void* const last = active(activations_.layers.back().result);
  TRY(done("norm",
           norm_->forward(stream, active(activations_.normed), statistic(activations_.statistics),
                          last, stream_in, branch_in, weight(parameters_.norm_weight),
                          weight(parameters_.norm_bias), {n, c})));
  TRY(done("head", linear_->forward(stream, active(activations_.logits),
                                    active(activations_.normed), weight(parameters_.embedding),
                                    nullptr, {n, shape.padded_vocabulary(), c})));
  TRY(cross_entropy_->forward_backward(stream, active(activations_.logits), losses_.data(),
                                       batches_, choice, shape.vocabulary,
                                       shape.padded_vocabulary()));
  return done("loss", cross_entropy_->record(stream, history_.data(), losses_.data(), choice, n,
                                             remembered_losses));
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

Status GptTraining::backward(Stream& stream, BatchChoice choice) {
  const GptShape& shape = plan_.shape;
  const std::int64_t n = plan_.tokens(), c = shape.width;
  const bool add = choice.pass > 0;
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
  TRY(done("norm",
           norm_->backward(stream,
                           {.input = d_stream,
                            .weight = gradient(parameters_.norm_weight),
                            .bias = gradient(parameters_.norm_bias),
                            .bias_before = gradient_or_null(parameters_.layers.back().fc2_bias),
                            .add_input = false,
                            .add_parameters = add},
                           d_normed, active(activations_.layers.back().result),
                           statistic(activations_.statistics), weight(parameters_.norm_weight),
                           scratch_.data(), {n, c})));
  for (std::size_t i = activations_.layers.size(); i-- > 0;) {
    TRY(backward_layer(stream, i, add));
  }
  return done("embedding", embedding_->backward(stream, gradient(parameters_.embedding),
                                                gradient(parameters_.positions), d_stream, batches_,
                                                choice, plan_.sequence, c, add));
}

/// From the gradient of the block's result in stream_gradient, which is also that of what the block
/// added last, to that of its input in the same place. The norms' gradients come with those of the
/// biases before them.
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
    TRY(done("gelu", gelu_->forward(stream, active(a.hidden), active(a.before_gelu), n * f)));
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
  TRY(done("qkv_weight", linear_->weight_gradient(stream, gradient(p.qkv), d_qkv, active(a.normed1),
                                                  {n, 3 * c, c}, add)));
  TRY(done("qkv_input",
           linear_->input_gradient(stream, d_branch, d_qkv, weight(p.qkv), {n, 3 * c, c})));
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

// ---- Before the first step ----

GptTraining::GptTraining(Device& device, Stream& stream, TrainingSettings settings)
    : device_(device),
      settings_(std::move(settings)),
      parameters_(GptParameters::of(plan_.shape)),
      activations_(GptActivations::of(plan_)),
      element_(size_of(plan_.type)),
      plans_(device, stream, product_options(settings_), ChoiceCache::of_user(device.facts())) {}

Result<std::unique_ptr<GptTraining>> GptTraining::create(Device& device, Stream& stream,
                                                         TrainingSettings settings,
                                                         const TokenBatches& batches) {
  TRY(validate(settings.plan.shape));
  TRY(LayerNorm::validate(settings.plan.shape.width));
  if (settings.plan.shape.positions < settings.plan.sequence) {
    return Error{ErrorKind::usage,
                 fmt::format("a sequence of {} is longer than the model's {} positions",
                             settings.plan.sequence, settings.plan.shape.positions)};
  }
  if (batches.tokens_per_batch != settings.plan.tokens()) {
    return Error{ErrorKind::usage, fmt::format("batches of {} tokens do not fit {} sequences of {}",
                                               batches.tokens_per_batch, settings.plan.batch,
                                               settings.plan.sequence)};
  }
  auto made = std::unique_ptr<GptTraining>(new GptTraining(device, stream, std::move(settings)));
  TRY(made->allocate());
  made->batches_ = TRY(DeviceBatches::upload(device, stream, batches));
  TRY(made->load_operations());
  made->update_ = std::make_unique<AdamWUpdate>(TRY(AdamWUpdate::create(
      device, stream, made->plan_.type, made->plan_.states, made->settings_.update,
      made->settings_.rates, made->parameters_.elements, made->settings_.seed)));
  TRY(made->initialize(stream));
  return made;
}

Status GptTraining::allocate() {
  const TrainingMemory needed = memory_of(plan_);
  const auto [free, total] = TRY(device_.memory_free_and_total());
  if (needed.total() > free) {
    return Error{ErrorKind::exhausted,
                 fmt::format("training needs {} and {} are free, {} too few; {}",
                             format_memory(needed.total()), format_memory(free),
                             format_memory(needed.total() - free), what_would_fit(plan_, free))};
  }
  const auto arena = [&](Buffer& buffer, std::uint64_t bytes) -> Status {
    if (bytes > 0) buffer = TRY(device_.allocate(bytes, MemoryKind::device));
    return {};
  };
  const std::size_t elements = parameters_.elements, moment = size_of(plan_.moment_type());
  TRY(arena(weights_, elements * element_));
  TRY(arena(gradients_, elements * element_));
  TRY(arena(master_, plan_.has_master() ? elements * sizeof(float) : 0));
  TRY(arena(first_, elements * moment));
  TRY(arena(second_, elements * moment));
  TRY(arena(active_, activations_.elements * element_));
  TRY(arena(floats_, activations_.floats * sizeof(float)));
  TRY(arena(losses_, static_cast<std::uint64_t>(plan_.tokens()) * sizeof(float)));
  TRY(arena(history_, remembered_losses * sizeof(float)));
  TRY(arena(scratch_, scratch_bytes(plan_)));
  return arena(state_, sizeof(StepState));
}

Status GptTraining::load_operations() {
  const DataType type = plan_.type;
  embedding_ = std::make_unique<Embedding>(TRY(Embedding::create(device_, type)));
  column_sums_ = std::make_unique<ColumnSums>(TRY(ColumnSums::create(device_, type)));
  norm_ = std::make_unique<LayerNorm>(TRY(LayerNorm::create(device_, type, *column_sums_)));
  gelu_ = std::make_unique<Gelu>(TRY(Gelu::create(device_, type)));
  linear_ = std::make_unique<Linear>(
      TRY(Linear::create(device_, plans_, *gelu_, settings_.precision, settings_.fuse_gelu)));
  attention_ = TRY(open_attention(device_, plans_, plan_, settings_.precision));
  cross_entropy_ = std::make_unique<CrossEntropy>(TRY(CrossEntropy::create(device_, type)));
  return {};
}

bool GptTraining::can_fuse_gelu() {
  const std::int64_t n = plan_.tokens(), c = plan_.shape.width, f = plan_.shape.hidden;
  return linear_->can_fuse({n, f, c}, plan_.shape.bias, {n, c, f});
}

Status GptTraining::initialize(Stream& stream) {
  TRY(stream.fill(weights_.data(), 0, weights_.bytes()));
  // Never written between the tensors, where the norm of the gradients reads too.
  TRY(stream.fill(gradients_.data(), 0, gradients_.bytes()));
  TRY(write_initial_weights(device_, stream, weights_.data(), plan_.type, plan_.shape,
                            settings_.seed));
  return begin(stream);
}

Status GptTraining::begin(Stream& stream) {
  TRY(update_->begin(stream, arenas(), size_of(plan_.moment_type())));
  StepState state = {};
  state.beta1_power = state.beta2_power = 1;
  return set_state(stream, state);
}

Status GptTraining::set_state(Stream& stream, const StepState& state) {
  TRY(stream.copy(state_.data(), &state, sizeof state));
  return stream.synchronize();
}

Status GptTraining::restart(Stream& stream, const std::vector<float>& weights) {
  if (weights.size() != parameters_.elements) {
    return Error{ErrorKind::usage, fmt::format("{} weights given, the model has {}", weights.size(),
                                               parameters_.elements)};
  }
  TRY(write_weights(stream, weights_.data(), plan_.type, weights));
  return begin(stream);
}

// ---- Reading ----

Result<std::vector<float>> GptTraining::losses(Stream& stream, std::uint64_t first,
                                               std::uint64_t count) {
  const auto length = static_cast<std::uint64_t>(remembered_losses);
  std::vector<float> wanted;
  for (std::uint64_t step = first; step < first + count;) {
    const std::uint64_t at = step % length, here = std::min(length - at, first + count - step);
    const auto part = TRY(read_back<float>(stream, history_.as<float>() + at, here));
    wanted.insert(wanted.end(), part.begin(), part.end());
    step += here;
  }
  return wanted;
}

Result<StepState> GptTraining::state(Stream& stream) {
  return TRY(read_back<StepState>(stream, state_.data(), 1)).front();
}

Result<std::vector<float>> GptTraining::read(Stream& stream, const Buffer& arena) {
  return read_weights(stream, arena.data(), plan_.type, parameters_.elements);
}

std::uint64_t GptTraining::allocated_bytes() const {
  std::uint64_t bytes = attention_->allocated_bytes();
  for (const Buffer* buffer : {&weights_, &gradients_, &master_, &first_, &second_, &active_,
                               &floats_, &losses_, &history_, &scratch_, &state_, &batches_.data}) {
    bytes += buffer->bytes();
  }
  return bytes;
}

std::string GptTraining::attention_way() const {
  const std::string detail = attention_->detail();
  return fmt::format("{}{}{}", name_of(plan_.attention), detail.empty() ? "" : " ", detail);
}

AttentionMemory GptTraining::attention_memory(const GptLayerActivations& a) const {
  const bool plain = plan_.attention == AttentionWay::plain;
  return {.probabilities = plain ? active(a.probabilities) : nullptr,
          .log_sum = plain ? nullptr : statistic(a.log_sum),
          .scratch = scratch_.data()};
}

UpdateArenas GptTraining::arenas() const {
  return {weights_.data(), master_.data(), first_.data(), second_.data(), gradients_.data()};
}

}  // namespace assay
