#include "model/training/training.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "compute/device/helpers.h"
#include "core/units.h"
#include "model/tensors/weights.h"

namespace assay {
namespace {

GemmPlans::Options product_options(const TrainingSettings& settings) {
  GemmPlans::Options options;
  options.measure = settings.measured_products;
  options.own_if_none = true;
  options.stop_requested = settings.stop_requested;
  return options;
}

}  // namespace

namespace {

/// `share` returns the share of the peak rate, given the finished share of the steps after the
/// warm-up.
template <typename Share>
std::vector<float> warmup_and_then(float peak, std::int64_t warmup, std::int64_t steps,
                                   Share share) {
  std::vector<float> rates;
  for (std::int64_t i = 0; i < steps; ++i) {
    if (i < warmup) {
      rates.push_back(peak * static_cast<float>(i + 1) / static_cast<float>(warmup + 1));
      continue;
    }
    const double done = static_cast<double>(i - warmup) / static_cast<double>(steps - warmup);
    rates.push_back(static_cast<float>(peak * share(done)));
  }
  return rates;
}

}  // namespace

std::vector<float> warmup_and_cosine(float peak, std::int64_t warmup, std::int64_t steps) {
  constexpr float least = 0.1f;
  return warmup_and_then(peak, warmup, steps, [](double done) {
    return least + (1 - least) * (1 + std::cos(std::numbers::pi * done)) / 2;
  });
}

std::vector<float> warmup_and_linear(float peak, std::int64_t warmup, std::int64_t steps) {
  return warmup_and_then(peak, warmup, steps, [](double done) { return 1 - done; });
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
  Status queued = timed(stream, Phase::forward, "", begin_step(stream));
  for (std::int64_t i = 0; queued.ok() && i < training_.accumulate; ++i) {
    const bool first = i == 0, last = i + 1 == training_.accumulate;
    if (!first && !has_stepped_) queued = stop_if_asked(stream);
    if (!queued.ok()) break;
    if (parallel_) parallel_->begin_pass(first, last);
    queued = note(stream, {.kind = StepCall::Kind::begin_pass, .first = first, .last = last});
    if (queued.ok()) queued = pass(stream, static_cast<std::uint64_t>(i));
  }
  if (queued.ok() && parallel_) queued = square_all_but_last(stream);
  if (queued.ok()) queued = note(stream, {.kind = StepCall::Kind::finish});
  if (queued.ok() && parallel_) {
    queued = timed(stream, Phase::backward, "exchange", parallel_->finish(stream));
  }
  if (queued.ok()) {
    queued = timed(stream, Phase::update, "optimizer",
                   update_->update(stream, state_.as<StepState>(), sum_over_ranks()));
  }
  if (queued.ok()) queued = note(stream, {.kind = StepCall::Kind::end});
  if (!queued.ok()) update_->forget_squares();
  if (queued.ok()) has_stepped_ = true;
  clock_ = nullptr;
  return queued;
}

Status Training::stop_if_asked(Stream& stream) const {
  if (!training_.stop_requested) return {};
  TRY(stream.synchronize());
  if (!training_.stop_requested()) return {};
  return Error{ErrorKind::interrupted, "stopped in the first step of the training"};
}

Status Training::step_without_exchange(Stream& stream, StepRecorder* recorder) {
  if (!parallel_) return step(stream);
  if (recorder != nullptr) TRY(recorder->begin(stream));
  recorder_ = recorder;
  parallel_->leave_out_exchange(true);
  Status queued = step(stream);
  parallel_->leave_out_exchange(false);
  recorder_ = nullptr;
  return queued;
}

Status Training::note(Stream& stream, const StepCall& call) {
  return recorder_ != nullptr ? recorder_->note(stream, call) : Status();
}

Status Training::exchange_alone(Stream& stream) {
  if (!parallel_) return {};
  const std::size_t sections = arenas_.sections().size();
  TRY(begin_step(stream));
  for (std::int64_t pass = 0; pass < training_.accumulate; ++pass) {
    parallel_->begin_pass(pass == 0, pass + 1 == training_.accumulate);
    for (std::size_t i = 0; i < sections; ++i) {
      TRY(open_weights(stream, Phase::forward, i));
      TRY(close_weights(stream, i));
    }
    const bool rows = gathers_rows(std::uint64_t(pass));
    if (rows) TRY(parallel_->send_gradients(stream, 0));
    for (std::size_t i = sections; i-- > 0;) {
      TRY(open_weights(stream, Phase::backward, i));
      if (i == 1 && rows) {
        TRY(parallel_->gather_rows(
            stream, arenas_.section_in_pass(ParameterPart::gradients, 0).address, gathered_rows_));
      }
      if (i == 0 && rows) {
        TRY(parallel_->take_rows(stream));
        continue;
      }
      TRY(open_gradients(stream, i));
      TRY(close_gradients(stream, i));
      TRY(close_weights(stream, i));
    }
  }
  return parallel_->finish(stream);
}

Status Training::begin_step(Stream& stream) {
  return parallel_ ? parallel_->begin(stream) : Status();
}

SumOverRanks Training::sum_over_ranks() const {
  if (!parallel_ || !parameter_plan_.parallel.slices_optimizer()) return nullptr;
  return [this](Stream& stream, float* sum) { return parallel_->sum(stream, sum, 1); };
}

Status Training::enter(Stream& stream, Phase phase, std::size_t section) {
  TRY(open_weights(stream, phase, section));
  return phase == Phase::backward ? open_gradients(stream, section) : Status();
}

Status Training::leave(Stream& stream, Phase phase, std::size_t section) {
  TRY(close_weights(stream, section));
  return phase == Phase::backward ? close_gradients(stream, section) : Status();
}

Status Training::open_weights(Stream& stream, Phase phase, std::size_t section) {
  if (!parallel_ || !parameter_plan_.parallel.slices_optimizer()) return {};
  TRY(note(stream, {.kind = StepCall::Kind::open_weights, .phase = phase, .section = section}));
  return timed(stream, phase, "exchange", parallel_->open_weights(stream, phase, section));
}

Status Training::close_weights(Stream& stream, std::size_t section) {
  if (!parallel_) return {};
  TRY(note(stream, {.kind = StepCall::Kind::close_weights, .section = section}));
  return parallel_->close_weights(stream, section);
}

Status Training::open_gradients(Stream& stream, std::size_t section) {
  if (!parallel_) return {};
  TRY(note(stream, {.kind = StepCall::Kind::open_gradients, .section = section}));
  return parallel_->open_gradients(stream, section);
}

Status Training::close_gradients(Stream& stream, std::size_t section) {
  if (!parallel_) return {};
  TRY(note(stream, {.kind = StepCall::Kind::close_gradients, .section = section}));
  return parallel_->close_gradients(stream, section);
}

Status Training::allocate_rows(std::uint64_t elements) {
  if (!parallel_) return {};
  gathered_rows_ = elements;
  return parallel_->reserve_rows(elements);
}

Status Training::send_gradients(Stream& stream, std::size_t section) {
  TRY(note(stream, {.kind = StepCall::Kind::send_gradients, .section = section}));
  return parallel_->send_gradients(stream, section);
}

Result<const void*> Training::gather_rows(Stream& stream, const void* rows) {
  TRY(note(stream, {.kind = StepCall::Kind::gather_rows, .elements = gathered_rows_}));
  return parallel_->gather_rows(stream, rows, gathered_rows_);
}

Status Training::take_rows(Stream& stream) {
  TRY(note(stream, {.kind = StepCall::Kind::take_rows}));
  return timed(stream, Phase::backward, "exchange", parallel_->take_rows(stream));
}

Status Training::square_all_but_last(Stream& stream) {
  TRY(note(stream, {.kind = StepCall::Kind::await_all_but_last}));
  const std::size_t section = TRY(parallel_->await_all_but_last(stream));
  TRY(timed(stream, Phase::backward, "exchange", {}));
  return timed(stream, Phase::update, "optimizer",
               update_->add_squares(stream, arenas_.updated_before(section)));
}

Status Training::settle(Stream& stream) {
  return parallel_ ? parallel_->wait(stream) : stream.synchronize();
}

Status Training::timed(Stream& stream, Phase phase, std::string_view name, Status queued) {
  TRY(std::move(queued));
  if (!name.empty()) stream.end_part(name_of(phase), name);
  return clock_ != nullptr ? clock_->mark(stream, phase, name) : Status();
}

BatchChoice Training::choose_batch_of(int rank, std::uint64_t number, std::int64_t batches,
                                      const std::int32_t* targets) const {
  const auto all = std::uint64_t(ranks());
  return {state_.as<StepState>(), std::uint64_t(batches), std::uint64_t(training_.accumulate) * all,
          number * all + std::uint64_t(rank), targets};
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
                                     std::vector<Section> sections, std::size_t kept,
                                     std::size_t before_gradients) {
  tensors_ = std::move(tensors);
  const TrainingRanks& ranks = training_.ranks;
  const int rank = ranks.communicator != nullptr ? ranks.communicator->rank() : 0;
  arenas_ = TRY(ParameterArenas::allocate(device_, stream, parameter_plan_, std::move(sections),
                                          kept, rank, before_gradients));
  TRY(allocate(state_, sizeof(StepState)));
  history_ = TRY(LossHistory::create(device_));
  elementwise_ = TRY(Elementwise::create(device_, parameter_plan_.type));
  UpdateSettings update = training_.update;
  update.scale_growth_interval = scales_loss() ? training_.loss_scaling.growth_interval : 0;
  update_ = TRY(WeightUpdate::create(device_, stream, parameter_plan_, update, training_.rates,
                                     arenas_.pieces(), training_.seed, *elementwise_));
  if (ranks.communicator == nullptr) return {};
  parallel_ = TRY(DataParallel::create(device_, ranks, parameter_plan_, arenas_, *elementwise_));
  return {};
}

Status Training::keep_initial(Stream& stream, std::size_t section) {
  if (!parameter_plan_.parallel.slices_parameters()) return {};
  const auto whole = arenas_.section_in_pass(ParameterPart::weights, section);
  const auto own = arenas_.kept_of(ParameterPart::weights, section);
  const auto* const from =
      static_cast<const std::byte*>(whole.address) + (own.first - whole.first) * element_;
  TRY(stream.copy(own.address, from, own.elements * element_));
  // Sections take turns in one place, where each is written on 0.
  return stream.fill(whole.address, 0, whole.elements * element_);
}

Status Training::begin(Stream& stream) {
  TRY(update_->begin(stream));
  StepState state = {};
  state.beta1_power = state.beta2_power = 1;
  if (scales_loss()) state.loss_scale = training_.loss_scaling.initial;
  return set_state(stream, state);
}

Status Training::restart(Stream& stream) {
  for (std::size_t i = 0; i < arenas_.sections().size(); ++i) {
    const auto whole = arenas_.section_in_pass(ParameterPart::weights, i);
    TRY(stream.fill(whole.address, 0, whole.elements * element_));
  }
  TRY(write_initial_weights(stream));
  return begin(stream);
}

Status Training::restart(Stream& stream, const std::vector<float>& weights) {
  if (weights.size() != arenas_.elements()) {
    return Error{ErrorKind::usage, fmt::format("{} weights given, the model has {}", weights.size(),
                                               arenas_.elements())};
  }
  for (std::size_t i = 0; i < arenas_.sections().size(); ++i) {
    const auto own = arenas_.kept_of(ParameterPart::weights, i);
    const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(own.first);
    TRY(write_weights(stream, own.address, parameter_plan_.type,
                      {begin, begin + static_cast<std::ptrdiff_t>(own.elements)}));
  }
  return begin(stream);
}

Result<std::vector<float>> Training::losses(Stream& stream, std::uint64_t first,
                                            std::uint64_t count) {
  TRY(settle(stream));
  std::vector<float> losses = TRY(own_losses(stream, first, count));
  if (!parallel_ || count == 0) return losses;
  const Buffer sums = TRY(device_.allocate(count * sizeof(float), MemoryKind::device));
  TRY(stream.copy(sums.data(), losses.data(), sums.bytes()));
  TRY(parallel_->sum(stream, sums.as<float>(), count));
  TRY(settle(stream));
  return read_back<float>(stream, sums.as<float>(), count);
}

Result<const void*> Training::section(Stream& stream, ParameterPart part, std::size_t index) {
  if (parallel_) return parallel_->gather(stream, part, index);
  return static_cast<const void*>(arenas_.kept_of(part, index).address);
}

Result<StepState> Training::state(Stream& stream) {
  return TRY(read_back<StepState>(stream, state_.data(), 1)).front();
}

Result<std::optional<double>> Training::held_back_loss(Stream& stream) {
  const HeldBack held = held_back();
  if (held.batches == 0 || held.counted == 0) return std::optional<double>();
  TRY(begin_step(stream));
  double total = 0;
  for (std::int64_t i = 0; i < held.batches; ++i) {
    // Whatever the step is, these are all batches, each once.
    const BatchChoice choice = {state_.as<StepState>(), std::uint64_t(held.batches), 1,
                                std::uint64_t(i), held.targets};
    const Losses losses = TRY(held_back_pass(stream, choice));
    if (parallel_) TRY(parallel_->finish(stream));
    TRY(settle(stream));
    const std::vector<float> rows = TRY(read_back<float>(
        stream, static_cast<const float*>(losses.address), static_cast<std::size_t>(losses.rows)));
    for (const float loss : rows) {
      total += static_cast<double>(loss) / static_cast<double>(held.counted);
    }
  }
  return std::optional<double>(total);
}

Status Training::set_state(Stream& stream, const StepState& state) {
  TRY(stream.copy(state_.data(), &state, sizeof state));
  return stream.synchronize();
}

Result<std::vector<float>> Training::read(Stream& stream, ParameterPart part) {
  std::vector<float> all;
  for (std::size_t i = 0; i < arenas_.sections().size(); ++i) {
    const void* const address = TRY(section(stream, part, i));
    const std::vector<float> values =
        TRY(read_weights(stream, address, parameter_plan_.type, arenas_.sections()[i].elements()));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Result<std::vector<float>> Training::gradients(Stream& stream) {
  std::vector<float> all = TRY(read(stream, ParameterPart::gradients));
  const float scale = TRY(state(stream)).loss_scale;
  for (float& gradient : all) gradient /= scale;
  return all;
}

Result<std::uint64_t> Training::checksum(Stream& stream) {
  const Buffer sum = TRY(device_.allocate(sizeof(std::uint64_t), MemoryKind::device));
  TRY(stream.fill(sum.data(), 0, sum.bytes()));
  for (std::size_t i = 0; i < arenas_.sections().size(); ++i) {
    const Section& section = arenas_.sections()[i];
    const void* const weights = TRY(this->section(stream, ParameterPart::weights, i));
    TRY(elementwise_->checksum(stream, sum.as<std::uint64_t>(), weights,
                               section.elements() * element_, section.begin * element_ / 4));
  }
  TRY(add_checksum(stream, *elementwise_, sum.as<std::uint64_t>()));
  return TRY(read_back<std::uint64_t>(stream, sum.as<std::uint64_t>(), 1)).front();
}

std::uint64_t Training::allocated_bytes() const {
  return history_->bytes() + plans_.workspace().bytes + state_.bytes() + arenas_.bytes() +
         (parallel_ ? parallel_->bytes() : 0);
}

}  // namespace assay
