#include "model/training.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "compute/device/helpers.h"
#include "core/units.h"
#include "model/weights.h"

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

Training::Training(Device& device, Stream& stream, TrainingSettings settings,
                   const ParameterPlan& plan)
    : device_(device),
      training_(std::move(settings)),
      element_(size_of(plan.type)),
      plans_(device, stream, product_options(training_), ChoiceCache::of_user(device.facts())),
      parameter_plan_(plan) {}

Status Training::step(Stream& stream, OperationClock* clock) {
  clock_ = clock;
  Status queued = timed(stream, Phase::forward, "", Status());
  for (std::int64_t i = 0; queued.ok() && i < training_.accumulate; ++i) {
    queued = pass(stream, static_cast<std::uint64_t>(i));
  }
  if (queued.ok()) {
    queued = timed(stream, Phase::update, "optimizer",
                   update_->update(stream, arenas(), state_.as<StepState>()));
  }
  clock_ = nullptr;
  return queued;
}

Status Training::timed(Stream& stream, Phase phase, std::string_view name, Status queued) {
  TRY(std::move(queued));
  return clock_ != nullptr ? clock_->mark(stream, phase, name) : Status();
}

BatchChoice Training::choose_batch(std::uint64_t number, std::int64_t batches) const {
  return {state_.as<StepState>(), std::uint64_t(batches), std::uint64_t(training_.accumulate),
          number};
}

Status Training::allocate(Buffer& buffer, std::uint64_t bytes) {
  if (bytes > 0) buffer = TRY(device_.allocate(bytes, MemoryKind::device));
  return {};
}

Status Training::check_memory(
    const TrainingMemory& needed,
    const std::function<std::string(std::uint64_t)>& what_would_fit) const {
  const auto [free, total] = TRY(device_.memory_free_and_total());
  if (needed.total() <= free) return {};
  return Error{ErrorKind::exhausted,
               fmt::format("training needs {} and {} are free, {} too few; {}",
                           format_memory(needed.total()), format_memory(free),
                           format_memory(needed.total() - free), what_would_fit(free))};
}

Status Training::allocate_parameters(Stream& stream, std::vector<NamedTensor> tensors,
                                     std::size_t elements) {
  const ParameterPlan& plan = parameter_plan_;
  tensors_ = std::move(tensors);
  elements_ = elements;
  TRY(allocate(weights_, elements * element_));
  TRY(allocate(gradients_, elements * element_));
  TRY(allocate(master_, plan.has_master() ? elements * sizeof(float) : 0));
  TRY(allocate(first_, elements * plan.moment_bytes()));
  TRY(allocate(second_, elements * plan.moment_bytes()));
  TRY(allocate(state_, sizeof(StepState)));
  history_ = TRY(LossHistory::create(device_));
  update_ = TRY(WeightUpdate::create(device_, stream, plan, training_.update, training_.rates,
                                     elements, training_.seed));
  // Never written between the tensors, where the norm of the gradients reads too.
  TRY(stream.fill(gradients_.data(), 0, gradients_.bytes()));
  return stream.fill(weights_.data(), 0, weights_.bytes());
}

Status Training::begin(Stream& stream) {
  TRY(update_->begin(stream, arenas()));
  StepState state = {};
  state.beta1_power = state.beta2_power = 1;
  return set_state(stream, state);
}

Status Training::restart(Stream& stream, const std::vector<float>& weights) {
  if (weights.size() != elements_) {
    return Error{ErrorKind::usage,
                 fmt::format("{} weights given, the model has {}", weights.size(), elements_)};
  }
  TRY(write_weights(stream, weights_.data(), parameter_plan_.type, weights));
  return begin(stream);
}

Result<StepState> Training::state(Stream& stream) {
  return TRY(read_back<StepState>(stream, state_.data(), 1)).front();
}

Result<std::optional<double>> Training::held_back_loss(Stream& stream) {
  const std::int64_t batches = held_back_batches();
  double total = 0;
  for (std::int64_t i = 0; i < batches; ++i) {
    // Whatever the step is, these are all batches, each once.
    const BatchChoice choice = {state_.as<StepState>(), std::uint64_t(batches), 1,
                                std::uint64_t(i)};
    const Losses losses = TRY(held_back_pass(stream, choice));
    const std::vector<float> rows = TRY(read_back<float>(
        stream, static_cast<const float*>(losses.address), static_cast<std::size_t>(losses.rows)));
    for (const float loss : rows) {
      total += static_cast<double>(loss) / static_cast<double>(losses.rows * batches);
    }
  }
  if (batches == 0) return std::optional<double>();
  return std::optional<double>(total);
}

Status Training::set_state(Stream& stream, const StepState& state) {
  TRY(stream.copy(state_.data(), &state, sizeof state));
  return stream.synchronize();
}

Result<std::vector<float>> Training::read(Stream& stream, const Buffer& arena) {
  return read_weights(stream, arena.data(), parameter_plan_.type, elements_);
}

UpdateArenas Training::arenas() const {
  return {weights_.data(), master_.data(), first_.data(), second_.data(), gradients_.data()};
}

std::uint64_t Training::allocated_bytes() const {
  std::uint64_t bytes = history_->bytes() + plans_.workspace().bytes;
  for (const Buffer* buffer : {&weights_, &gradients_, &master_, &first_, &second_, &state_}) {
    bytes += buffer->bytes();
  }
  return bytes;
}

}  // namespace assay
