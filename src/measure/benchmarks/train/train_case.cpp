#include "measure/benchmarks/train/train_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "compute/device/helpers.h"
#include "compute/device/peaks.h"
#include "core/text.h"
#include "core/write_file.h"
#include "measure/benchmarks/gemm/product_rate.h"
#include "measure/benchmarks/train/exchange_cost.h"
#include "measure/sampling/roofline.h"
#include "measure/sampling/team_results.h"
#include "model/operations/fp8_linear.h"
#include "model/tensors/weights.h"
#include "model/training/checkpoint.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/agreement.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// A host clock that returns the seconds since the last lap.
class StartClock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class TrainCase final : public Case {
 public:
  TrainCase(TrainCell cell, ExchangeChoice exchange, Device& device, TrainingRanks ranks)
      : cell_(std::move(cell)), chosen_(std::move(exchange)), device_(device), ranks_(ranks) {}

  /// Wherever a single rank can fail, all ranks agree on the outcome before they continue together.
  Status prepare(Stream& stream, std::uint64_t seed, const std::function<bool()>& stop_requested) {
    cell_.model->set_seed(seed);
    if (!exchanges()) cell_.model->set_stop_requested(stop_requested);
    stream_ = &stream;
    TRY(on_all_ranks("checking the gradients", &TrainCase::check));
    TRY(on_all_ranks("making the model", &TrainCase::make));
    TRY(share_steps());
    if (cell_.ranks > 1) {
      // Every rank must have the same data, because it computes which batches the others take.
      TRY(compare_files(training_ ? training_->data_hash() : std::string(), *ranks_.team,
                        cell_.ranks, "data", cell_.data));
      if (!cell_.from.empty()) {
        TRY(compare_files(from_checksum_, *ranks_.team, cell_.ranks, "from", cell_.from));
      }
    }
    TRY(on_all_ranks("taking the first step", &TrainCase::begin));
    return {};
  }

  bool takes_part() const override { return ranks_.team->rank() < cell_.ranks; }

  Status check(Stream& stream) {
    // Before the training, which may take hours.
    if (ranks_.team->rank() == 0) TRY(check_disk_room(cell_));
    if (!cell_.save.empty() && ranks_.team->rank() == 0) {
      TRY(check_writable(cell_.save, {cell_.data}));
    }
    if (!cell_.output.empty() && ranks_.team->rank() == 0) {
      TRY(cell_.model->check_output(cell_.output));
    }
    gate_ = TRY(cell_.model->check(device_, stream));
    if (!gate_.passed) return gate_error();
    start_.gate = clock_.lap();
    // An emulator's rate says nothing about a chip, and that of one type nothing about a step of
    // two.
    if (!device_.facts().emulated && cell_.model->fp8_flops() == 0) {
      product_rate_ = TRY(measured_product_rate(device_, stream, settings().precision));
    }
    start_.product = clock_.lap();
    return {};
  }

  Status make(Stream& stream) {
    barrier_ = TRY(device_.allocate(2 * sizeof(float), MemoryKind::device));
    TRY(stream.fill(barrier_.data(), 0, barrier_.bytes()));
    free_before_ = TRY(device_.memory_free_and_total()).first;
    training_ = TRY(cell_.model->create(device_, stream, exchanges() ? ranks_ : TrainingRanks()));
    if (!cell_.from.empty()) {
      from_checksum_ = std::to_string(TRY(load_checkpoint(*training_, stream, cell_.from)));
    }
    begun_ = evaluated_ = TRY(training_->state(stream)).step;
    if (const auto steps = cell_.model->steps_of_data()) {
      const std::uint64_t left = *steps > begun_ ? *steps - begun_ : 0;
      if (left <= steps_before_timed) {
        return Error{
            ErrorKind::usage,
            fmt::format("the epochs are {} steps, of which {} are left, but {} are needed; "
                        "give more epochs or a smaller batch",
                        *steps, left, steps_before_timed + 1)};
      }
      cell_.steps = left - steps_before_timed;
    }
    return {};
  }

  /// Ranks that do not train have not read the data, which says how many steps there are.
  Status share_steps() {
    if (!cell_.model->ends_with_data()) return {};
    const std::string mine = cell_.steps ? std::to_string(*cell_.steps) : "";
    const auto steps = parse_count(TRY(from_rank_0(*ranks_.team, "counting the steps", mine)));
    if (!steps) return Error{ErrorKind::failed, "rank 0 sent no number of steps"};
    cell_.steps = *steps;
    return {};
  }

  Status begin(Stream& stream) {
    if (begins_untrained()) held_back_before_ = TRY(training_->held_back_loss(stream));
    // The first step selects implementations by measuring, which cannot be captured in a graph.
    TRY(training_->step(stream));
    first_loss_ = TRY(training_->losses(stream, begun_, 1)).front();
    start_.first_step = clock_.lap();
    TRY(capture(stream));
    const auto after = TRY(device_.memory_free_and_total());
    driver_bytes_ = free_before_ > after.first ? free_before_ - after.first : 0;
    return {};
  }

  Status capture(Stream& stream) {
    if (!cell_.graph) return {};
    graph_ = TRY(captured(stream, [&] { return training_->step(stream); }));
    return {};
  }

  Work work() const override { return cell_.model->work(); }
  Quantity quantity() const override { return cell_.model->quantity(); }
  Limit limit() const override { return Limit::compute; }
  /// Epochs end with their last step: none follows to see who arrives last.
  bool waits_for_all() const override { return exchanges() && !cell_.model->ends_with_data(); }
  /// False if the lead-in is a whole step, because the host queues ahead during it, or if its
  /// barrier is that of a host-side library, which waits for the device.
  bool fits_behind_gate() const override {
    const Communicator* const communicator = ranks_.communicator;
    return cell_.graph && !has_untimed_step() &&
           (communicator == nullptr || communicator->queues_on_stream());
  }
  std::optional<std::size_t> fixed_samples() const override { return cell_.steps; }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    if (!takes_part()) return {};
    auto all = training_->notes();
    for (auto& note : cell_.model->notes()) all.push_back(std::move(note));
    all.emplace_back("parameters", fmt::format("{:.0f}", cell_.model->parameters()));
    all.emplace_back("gate",
                     fmt::format("gradients within {:.2g} of the double-precision reference, "
                                 "{:.2g} allowed",
                                 gate_.gradient_error, gate_.tolerance));
    if (exchanges()) all.emplace_back("exchange", described(chosen_));
    if (const double in_fp8 = cell_.model->fp8_flops(); in_fp8 > 0 && seconds_at_peak()) {
      all.emplace_back(
          "share_of_peak",
          fmt::format("{:.3g}% of the operations at the peak of {}, the others at that "
                      "of {}",
                      100 * in_fp8 / work().flops,
                      name_of(fp8_type(device_.facts(), Fp8Role::value)),
                      name_of(settings().precision)));
    }
    if (!no_times_.empty()) all.emplace_back("operation_times", "not known: " + no_times_);
    exchange_.times.add_doubt(all);
    if (const auto uncalibrated = exchange_.note()) all.emplace_back("simulation", *uncalibrated);
    return all;
  }

  /// Starts all ranks at once with a barrier, followed by an untimed step if has_untimed_step():
  /// the first step after a pause of a millisecond differs from those that follow (docs/method.md).
  Status lead_in(Stream& stream) override {
    if (!exchanges() || !takes_part()) return {};
    TRY(start_together(*ranks_.communicator, barrier_, stream));
    return has_untimed_step() ? enqueue(stream) : Status();
  }
  int lead_in_launches() const override { return has_untimed_step() ? 1 : 0; }

  Status enqueue(Stream& stream) override {
    if (!takes_part()) return {};
    if (graph_) return stream.launch(*graph_);
    return training_->step(stream);
  }

  /// Returns an error if the loss is not finite or if the ranks' weights differ.
  Status after_sample() override {
    if (exchanges() && takes_part()) TRY(ranks_.communicator->status());
    if (exchanges() && checks_++ % steps_between_checks == 0) {
      TRY(compare_weights(training_.get(), *stream_, *ranks_.team, cell_.ranks));
    }
    if (!takes_part()) return {};
    const std::uint64_t steps = TRY(training_->state(*stream_)).step;
    // A sample may be several steps.
    if (const std::uint64_t between = cell_.steps_between_evaluations;
        between > 0 && steps / between > evaluated_ / between) {
      TRY(evaluate(steps));
      evaluated_ = steps;
    }
    const float loss = TRY(training_->own_losses(*stream_, steps - 1, 1)).front();
    if (std::isfinite(loss)) return {};
    return Error{ErrorKind::verification, TRY(not_finite(*stream_, steps - 1))};
  }

  /// Adds the loss of the batches held back to the curve, at step `steps`.
  Status evaluate(std::uint64_t steps) {
    const std::optional<double> loss = TRY(training_->held_back_loss(*stream_));
    if (!loss) return {};
    evaluations_.x.push_back(static_cast<double>(steps));
    evaluations_.y.push_back(*loss);
    return {};
  }

  Status keep(Stream&) override {
    if (!cell_.save.empty()) TRY(on_all_ranks("saving the checkpoint", &TrainCase::save));
    if (cell_.output.empty()) return {};
    return on_all_ranks("writing the weights", &TrainCase::write_weights);
  }

  Status write_weights(Stream& stream) {
    return cell_.model->write_weights(*training_, stream, cell_.output);
  }

  Status save(Stream& stream) { return save_checkpoint(*training_, stream, cell_.save); }

  Result<Verification> verify(Stream& stream) override {
    if (!takes_part()) return Verification{true, "takes no part", 0, 0, ""};
    return check_losses(stream);
  }

  /// Measures the cost of communication, after training as many steps anew as the samples had on
  /// average.
  Status measure_costs(Stream& stream) override {
    if (!exchanges()) return {};
    if (has_untimed_step() && cell_.from.empty()) {
      TRY(on_all_ranks("beginning anew", &TrainCase::restart));
      TRY(on_all_ranks("training half of the steps anew", &TrainCase::return_to_middle));
    }
    exchange_ =
        TRY(measure_exchange(training_.get(), device_, stream, ranks_, cell_.ranks, cell_.graph));
    return {};
  }

  /// Checks that the loss of every step is finite and that the last losses are below the first.
  Result<Verification> check_losses(Stream& stream) {
    const StepState state = TRY(training_->state(stream));
    const std::uint64_t known = std::min<std::uint64_t>(
        state.step - begun_, static_cast<std::uint64_t>(LossHistory::length));
    first_step_ = state.step - known;
    losses_ = TRY(training_->losses(stream, first_step_, known));
    Verification verification{false, "losses finite and falling; gradients by the gate before", 0,
                              0, ""};
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      if (std::isfinite(losses_[i])) continue;
      verification.detail = TRY(not_finite(stream, first_step_ + i));
      return verification;
    }
    last_loss_ = loss_at_end(losses_);
    loss_scale_ = state.loss_scale;
    skipped_updates_ = state.skipped;
    held_back_loss_ = TRY(training_->held_back_loss(stream));
    TRY(take_operation_times(stream));
    // For a model that was trained before, chance decides whether its loss falls further. Its loss
    // only has to be below that of an untrained model.
    const bool untrained = begins_untrained();
    double before = untrained ? first_loss_ : cell_.model->untrained_loss(), after = last_loss_;
    std::uint64_t steps = steps_ = state.step;
    // What adapters learn in a few steps may be less than batches differ. The batches held back are
    // always the same. Where neither loss is lower, more steps, which nobody times or keeps, tell.
    if (cell_.model->trains_adapters() && held_back_before_ && held_back_loss_ && after >= before) {
      constexpr std::uint64_t most_rounds = 8;
      constexpr double rounding = 1e-6;  // other implementations may compute the losses by now
      before = *held_back_before_ * (1 - rounding);
      after = *held_back_loss_;
      while (after >= before && steps < (1 + most_rounds) * steps_) {
        TRY(take_steps(stream, steps_));
        steps += steps_;
        after = TRY(training_->held_back_loss(stream)).value();
      }
    }
    verification.error = after - before;
    verification.passed = verification.error < 0;
    if (!verification.passed) {
      verification.detail =
          untrained
              ? fmt::format("the loss does not fall: {:.4f} at step 0, {:.4f} after {} steps",
                            before, after, steps)
              : fmt::format("the loss after {} steps is {:.4f}; an untrained model has {:.4f}",
                            steps, after, before);
    }
    return verification;
  }

  Status restart(Stream& stream) { return training_->restart(stream); }

  /// Trains half of the steps anew. What a model has learnt changes the power of its passes and, at
  /// a power limit, their time, so the costs are measured in the state that the samples had on
  /// average.
  Status return_to_middle(Stream& stream) { return take_steps(stream, steps_ / 2); }

  Status take_steps(Stream& stream, std::uint64_t count) {
    constexpr std::uint64_t in_a_row = 32;  // a wait has a deadline, so few steps precede it
    for (std::uint64_t i = 0; i < count; ++i) {
      TRY(enqueue(stream));
      if (i % in_a_row == 0) TRY(training_->settle(stream));
    }
    return training_->settle(stream);
  }

  std::vector<Metric> metrics(const Summary& seconds) const override {
    std::vector<Metric> all;
    if (!takes_part()) return all;
    const double rate = work().flops / seconds.median;
    const auto add = [&](std::string name, double value, const char* unit,
                         Better better = Better::neither) {
      all.push_back(
          {.name = std::move(name), .value = value, .unit = unit, .better = better, .text = ""});
    };
    const TrainingMemory memory = cell_.model->memory();
    const auto add_bytes = [&](const char* name, std::uint64_t bytes) {
      add(name, static_cast<double>(bytes), "bytes");
    };
    add("step_time", seconds.median, "s");
    add("flop_rate_6n", cell_.model->flops_by_parameters() / seconds.median, "FLOP/s");
    if (product_rate_ > 0) add("share_of_measured_product", rate / product_rate_, "1");
    add("first_loss", first_loss_, "1");
    add("last_loss", last_loss_, "1");
    if (held_back_loss_) add("validation_loss", *held_back_loss_, "1");
    if (training_->scales_loss()) {
      add("loss_scale", loss_scale_, "1");
      add("skipped_updates", static_cast<double>(skipped_updates_), "1");
    }
    add_bytes("memory", training_->allocated_bytes());
    add("flop_rate_with_attention", rate, "FLOP/s");
    if (const auto least = seconds_at_peak(); least && !device_.facts().emulated) {
      add("share_of_peak", *least / seconds.median, "1");
    }
    add("sample_rate", cell_.model->samples() / seconds.median, "samples/s");
    for (Metric& metric : cell_.model->more_metrics(seconds.median)) {
      all.push_back(std::move(metric));
    }
    // Unlike the last loss, these do not depend on how many steps a run made.
    for (const std::uint64_t step : {10, 100, 1000}) {
      if (step < first_step_ || step - first_step_ >= losses_.size()) continue;
      add(fmt::format("loss_at_step_{}", step), losses_[step - first_step_], "1");
    }
    if (exchanges()) {
      for (Metric& metric : exchange_.metrics()) all.push_back(std::move(metric));
    }
    add_bytes("memory_parameters", memory.parameters);
    add_bytes("memory_gradients", memory.gradients);
    add_bytes("memory_optimizer", memory.optimizer);
    add_bytes("memory_activations", memory.activations);
    if (memory.exchange > 0) add_bytes("memory_exchange", memory.exchange);
    if (memory.logits > 0) add_bytes("memory_logits", memory.logits);
    // On a host the difference means nothing: memory is allocated when it is touched, and other
    // programs use it too.
    if (!device_.facts().runs_on_host) add_bytes("memory_by_driver", driver_bytes_);
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::update}) {
      if (times_.empty()) break;
      double total = 0;
      for (const OperationClock::Time& time : times_)
        total += time.phase == phase ? time.seconds : 0;
      add(fmt::format("time_{}", name_of(phase)), total, "s");
    }
    add("start_gate", start_.gate, "s");
    add("start_measured_product", start_.product, "s");
    add("start_first_step", start_.first_step, "s");
    add_operations(all);
    return all;
  }

  std::vector<Curve> curves() const override {
    if (!takes_part()) return {};
    Curve curve{"loss", "step", {}, {}};
    // A few hundred points are enough for a chart. The first steps and the last one are always
    // included.
    constexpr std::size_t most_points = 500, all_at_first = 16;
    const std::size_t apart = losses_.size() / most_points + 1;
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      if (i >= all_at_first && i % apart != 0 && i + 1 != losses_.size()) continue;
      curve.x.push_back(static_cast<double>(first_step_ + i));
      curve.y.push_back(losses_[i]);
    }
    std::vector<Curve> all = {std::move(curve)};
    if (!evaluations_.x.empty()) all.push_back(evaluations_);
    return all;
  }

 private:
  /// Whether an untimed step precedes each sample: if ranks communicate, the step is a graph, and
  /// the number of steps is not fixed.
  bool has_untimed_step() const {
    return exchanges() && cell_.graph && !cell_.steps && suits_large_work(device_.facts());
  }
  /// Whether several ranks train one model together, and so communicate.
  bool exchanges() const { return cell_.model->parallel().ranks > 1; }
  bool begins_untrained() const { return begun_ == 0 && !cell_.model->begins_trained(); }

  /// Runs `what` on the ranks that train and agrees with the whole team on its outcome; other ranks
  /// only take part in the agreement.
  Status on_all_ranks(std::string_view step, Status (TrainCase::*what)(Stream&)) {
    const Status mine = takes_part() ? (this->*what)(*stream_) : Status();
    // Queued parts of a failed step may wait for a lost rank. They must end before their memory is
    // freed.
    if (!mine.ok() && training_) (void)training_->settle(*stream_);
    return agree(*ranks_.team, step, mine);
  }

  const TrainingSettings& settings() const { return cell_.model->settings(); }

  /// The time of a step whose operations run at the peak rates of their types; empty: not known.
  std::optional<double> seconds_at_peak() const {
    const double in_fp8 = cell_.model->fp8_flops();
    const auto peak = peak_compute_rate(device_.facts(), settings().precision);
    const auto fp8_peak =
        peak_compute_rate(device_.facts(), fp8_type(device_.facts(), Fp8Role::value));
    if (!peak || (in_fp8 > 0 && !fp8_peak)) return std::nullopt;
    const double others = (work().flops - in_fp8) / peak->rate;
    return in_fp8 > 0 ? others + in_fp8 / fp8_peak->rate : others;
  }

  Error gate_error() const {
    return {ErrorKind::verification,
            fmt::format("training is wrong on this device: the gradient of {} is {:.2g} from the "
                        "reference ({:.2g} allowed), the loss {:.2g}",
                        gate_.worst, gate_.gradient_error, gate_.tolerance, gate_.loss_error)};
  }

  /// Times each operation in one additional step. If the driver has no events in graphs, or they
  /// fail, the times stay unknown.
  Status take_operation_times(Stream& stream) {
    OperationClock clock(device_, cell_.graph);
    std::unique_ptr<Graph> timed;
    if (cell_.graph) {
      auto graph = captured(stream, [&] { return training_->step(stream, &clock); });
      if (!graph.ok() && graph.error().kind == ErrorKind::unsupported) {
        no_times_ = graph.error().message;
        return {};
      }
      timed = TRY(std::move(graph));
      for (int i = 0; i < 2; ++i) TRY(stream.launch(*timed));  // the second one counts
    } else {
      TRY(training_->step(stream, &clock));
    }
    TRY(training_->settle(stream));
    auto times = clock.times();
    if (times.ok()) {
      times_ = std::move(*times);
    } else {
      no_times_ = times.error().message;
    }
    return {};
  }

  /// Adds each operation's time, longest first, and its share of the roofline.
  void add_operations(std::vector<Metric>& all) const {
    std::vector<OperationClock::Time> times = times_;
    std::stable_sort(times.begin(), times.end(),
                     [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    const std::vector<OperationCost> costs = cell_.model->costs();
    for (const OperationClock::Time& time : times) {
      const std::string name = fmt::format("{}_{}", name_of(time.phase), time.name);
      all.push_back({.name = "time_" + name, .value = time.seconds, .unit = "s", .text = ""});
      const auto cost = std::find_if(costs.begin(), costs.end(), [&](const OperationCost& one) {
        return one.phase == time.phase && one.name == time.name;
      });
      if (cost == costs.end() || time.seconds <= 0) continue;
      const double passes =
          time.phase == Phase::update ? 1 : static_cast<double>(settings().accumulate);
      const Work work = {
          .bytes = cost->bytes * passes,
          .flops = cost->flops * passes,
          .math = cost->fp8 ? fp8_type(device_.facts(), Fp8Role::value) : settings().precision};
      const auto floor = floor_seconds(device_.facts(), work, Limit::compute);
      if (!floor) continue;
      all.push_back({.name = "share_of_roof_" + name,
                     .value = *floor / time.seconds,
                     .unit = "1",
                     .text = ""});
    }
  }

  Result<std::string> not_finite(Stream& stream, std::uint64_t step) {
    return fmt::format("the loss of step {} is not finite; the first tensor that is not: {}", step,
                       TRY(first_infinite_tensor(stream)));
  }

  /// Name of the first tensor of this rank that has a value that is not finite. Reads one section
  /// at a time, because all together may not fit into the host's memory.
  Result<std::string> first_infinite_tensor(Stream& stream) {
    const ParameterArenas& arenas = training_->arenas();
    for (const auto& [kind, part] :
         {std::pair("weights", ParameterPart::weights), {"gradients", ParameterPart::gradients}}) {
      for (std::size_t i = 0; i < arenas.sections().size(); ++i) {
        const auto kept = arenas.kept_of(part, i);
        const std::vector<float> values =
            TRY(read_weights(stream, kept.address, arenas.type_of(part), kept.elements));
        const auto wrong =
            std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
        if (wrong == values.end()) continue;
        return fmt::format(
            "{} of {}", kind,
            tensor_at(kept.first + static_cast<std::size_t>(wrong - values.begin())));
      }
    }
    return std::string("none; only the loss is");
  }

  /// The name of the tensor that contains element number `element` of the layout.
  std::string tensor_at(std::size_t element) const {
    std::string name;
    for (const NamedTensor& named : training_->tensors()) {
      if (named.tensor.offset <= element) name = named.name;
    }
    return name;
  }

  // The first sample is checked too. A check is expensive, because sharded weights are gathered for
  // it.
  static constexpr std::uint64_t steps_between_checks = 50;

  TrainCell cell_;
  const ExchangeChoice chosen_;
  Device& device_;
  const TrainingRanks ranks_;  // the whole team; null communicator if alone or idle
  std::uint64_t checks_ = 0;
  StartClock clock_;
  std::uint64_t free_before_ = 0;  // bytes
  GateResult gate_;
  /// Start-up times in seconds: checking the gradients, measuring the rate of a large GEMM, and
  /// creating the model up to the end of its first step.
  struct {
    double gate = 0, product = 0, first_step = 0;
  } start_;
  double product_rate_ = 0;
  Stream* stream_ = nullptr;  // the stream on which the case was prepared
  Buffer barrier_;            // two floats for start_together()
  std::uint64_t steps_ = 0;   // number of steps until verify()
  std::unique_ptr<Training> training_;
  std::unique_ptr<Graph> graph_;  // null: single launches
  std::uint64_t driver_bytes_ = 0;
  std::string from_checksum_;     // checksum of the checkpoint that was loaded
  std::uint64_t begun_ = 0;       // number of steps trained before this run
  std::uint64_t evaluated_ = 0;   // number of steps before the last evaluation
  std::uint64_t first_step_ = 0;  // number of the first step in losses_
  std::vector<float> losses_;
  double first_loss_ = 0, last_loss_ = 0;
  std::optional<double> held_back_before_, held_back_loss_;  // before the first and after all steps
  Curve evaluations_ = {"eval_loss", "step", {}, {}};
  float loss_scale_ = 1;                     // after the last step
  std::uint64_t skipped_updates_ = 0;        // since the model's first step
  ExchangeCosts exchange_;                   // only with several ranks
  std::vector<OperationClock::Time> times_;  // times of operations; empty: `no_times_` says why
  std::string no_times_;
};

}  // namespace

Result<std::unique_ptr<Case>> prepare_train_case(TrainCell cell, ExchangeChoice exchange,
                                                 PrepareContext context, TrainingRanks ranks) {
  auto prepared =
      std::make_unique<TrainCase>(std::move(cell), std::move(exchange), context.device, ranks);
  TRY(prepared->prepare(context.stream, context.seed, context.stop_requested));
  return std::unique_ptr<Case>(std::move(prepared));
}

double loss_at_end(std::span<const float> losses) {
  const std::size_t tail = std::min(losses.size(), std::max<std::size_t>(3, losses.size() / 4));
  const std::span<const float> last = losses.last(tail);
  return median({last.begin(), last.end()});
}

}  // namespace assay
