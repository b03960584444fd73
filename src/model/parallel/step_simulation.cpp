#include "model/parallel/step_simulation.h"

#include <algorithm>
#include <cmath>

#include "model/parallel/simulated_device.h"

namespace assay {
namespace {

/// Kinds of work of the simulated device: passes, and operations between ranks.
constexpr int of_passes = -1;
int kind_of(CollectiveOperation operation) {
  return static_cast<int>(operation);
}

SimulatedWork work_of(double seconds, const StepCall& call) {
  SimulatedWork work = {.seconds = seconds, .kind = of_passes};
  for (const auto& [operation, times] : call.slowed) work.slowed[kind_of(operation)] = times;
  return work;
}

/// Operations take the time that the model says, on the stream on which they are queued.
class SimulatedCommunicator final : public Communicator {
 public:
  SimulatedCommunicator(const ExchangeModel& model, int ranks) : model_(model), ranks_(ranks) {}

  std::string library() const override { return "simulated"; }
  int rank() const override { return 0; }
  int size() const override { return ranks_; }
  bool queues_on_stream() const override { return true; }
  std::optional<std::string> unsupported(CollectiveOperation, DataType, Reduction) const override {
    return std::nullopt;
  }
  Status run(const CollectiveCall& call, Stream& stream) override { return enqueue(call, stream); }
  Status enqueue(const CollectiveCall& call, Stream& stream) override {
    simulated(stream).advance(
        {.seconds = model_.seconds(call.operation, bytes_of(call, ranks_), ranks_),
         .kind = kind_of(call.operation),
         .slowed = {{of_passes, model_.slowed(call.operation)}}});
    return {};
  }
  Status transfer(std::span<const Message>, std::span<const Message>, Stream&) override {
    return no_messages();
  }
  Status enqueue(std::span<const Message>, std::span<const Message>, Stream&) override {
    return no_messages();
  }
  Status status() const override { return {}; }
  Result<std::unique_ptr<Communicator>> split(int, int, const CommunicatorConfig&) override {
    return Error{ErrorKind::unsupported, "a simulated communicator cannot be split"};
  }

 private:
  static Error no_messages() {
    return {ErrorKind::unsupported, "a simulated communicator has no messages"};
  }

  const ExchangeModel& model_;
  int ranks_;
};

/// The sections with gaps that let `ranks` ranks cut them.
std::vector<Section> cut_anew(const std::vector<Section>& sections, int ranks) {
  TensorPlaces places(static_cast<std::size_t>(ranks));
  std::vector<Section> cut;
  for (const Section& section : sections) {
    places.next(1, static_cast<std::int64_t>(section.elements()));
    cut.push_back(places.end_section());
  }
  return cut;
}

/// How many sections have memory of their own with sliced parameters.
std::size_t kept_sections(const ParameterArenas& arenas) {
  std::size_t kept = 0;
  while (kept < arenas.sections().size() && !arenas.turn(kept)) ++kept;
  return kept;
}

/// `gathers_rows`: whether these ranks do what the measured ones did; many add up the whole
/// instead.
Status make_call(DataParallel& parallel, Stream& stream, const StepCall& call, bool gathers_rows) {
  switch (call.kind) {
    case StepCall::Kind::begin_pass:
      parallel.begin_pass(call.first, call.last);
      return {};
    case StepCall::Kind::open_weights:
      return parallel.open_weights(stream, call.phase, call.section);
    case StepCall::Kind::close_weights:
      return parallel.close_weights(stream, call.section);
    case StepCall::Kind::open_gradients:
      return parallel.open_gradients(stream, call.section);
    case StepCall::Kind::close_gradients:
      return parallel.close_gradients(stream, call.section);
    case StepCall::Kind::send_gradients:
      return gathers_rows ? parallel.send_gradients(stream, call.section) : Status();
    case StepCall::Kind::gather_rows:
      if (!gathers_rows) return {};
      TRY(parallel.reserve_rows(call.elements));
      TRY(parallel.gather_rows(stream, nullptr, call.elements));
      return {};
    case StepCall::Kind::await_all_but_last:
      TRY(parallel.await_all_but_last(stream));
      return {};
    case StepCall::Kind::take_rows:
      return gathers_rows ? parallel.take_rows(stream)
                          : parallel.close_gradients(stream, call.section);
    case StepCall::Kind::finish:
      return parallel.finish(stream);
    case StepCall::Kind::end:
      break;
  }
  return {};
}

}  // namespace

Status StepRecorder::mark(Stream& stream) {
  Event& event = *events_.emplace_back(TRY(device_.create_event()));
  return replayed_ ? stream.record_each_replay(event) : stream.record(event);
}

Result<std::vector<StepCall>> StepRecorder::calls() const {
  std::vector<StepCall> timed = calls_;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    timed[i].seconds = TRY(events_[i + 1]->seconds_since(*events_[i]));
  }
  return timed;
}

double ExchangeModel::seconds(CollectiveOperation operation, std::uint64_t bytes, int ranks) const {
  const auto known = curves_.find(operation);
  if (known == curves_.end()) return 0;
  const std::map<std::uint64_t, double>& curve = known->second;
  const auto size = static_cast<double>(bytes);
  const double least = curve.begin()->second;
  auto above = curve.lower_bound(bytes);
  double measured = least;
  if (above == curve.end()) {
    --above;
    measured = above->second * size / static_cast<double>(above->first);
  } else if (above != curve.begin()) {
    const auto below = std::prev(above);
    const auto from = static_cast<double>(below->first), to = static_cast<double>(above->first);
    measured = std::lerp(below->second, above->second, (size - from) / (to - from));
  }
  const double steps = std::log2(ranks) / std::log2(ranks_);
  const double on_bus = bus_factor(operation, ranks) / bus_factor(operation, ranks_);
  return least * steps + std::max(0.0, measured - least) * on_bus;
}

void ExchangeModel::spread_over(const std::vector<CollectiveCall>& calls, double together) {
  double before = 0;
  for (const CollectiveCall& call : calls) {
    before += seconds(call.operation, bytes_of(call, ranks_), ranks_);
  }
  if (before <= 0 || together <= 0) return;
  for (auto& [operation, curve] : curves_) {
    for (auto& [bytes, one] : curve) one *= together / before;
  }
}

Result<double> simulated_step(const std::vector<StepCall>& calls, const ExchangeModel& model,
                              const ParameterPlan& plan, const ParameterArenas& arenas, int ranks) {
  const auto device = make_simulated_device();
  const auto stream = TRY(device->create_stream(StreamPriority::normal));
  SimulatedCommunicator communicator(model, ranks);
  ParameterPlan other = plan;
  other.parallel.ranks = ranks;
  const ParameterArenas cut = TRY(ParameterArenas::allocate(
      *device, *stream, other, cut_anew(arenas.sections(), ranks), kept_sections(arenas), 0));
  Elementwise elementwise = TRY(Elementwise::create(*device, plan.type));
  const auto parallel =
      TRY(DataParallel::create(*device, {&communicator, &solo_team()}, other, cut, elementwise));
  TRY(parallel->begin(*stream));
  SimulatedStream& time = simulated(*stream);
  const bool gathers_rows = std::ranges::any_of(calls, [&](const StepCall& call) {
    return call.kind == StepCall::Kind::gather_rows &&
           other.parallel.gathers_rows(call.elements, cut.sections()[call.section].elements());
  });
  // The time noted after take_rows adds one rank's lookups. Ranks that gather add those of all
  // ranks there; ranks that do not add their own before they send the section.
  const auto taken = std::ranges::find(calls, StepCall::Kind::take_rows, &StepCall::kind);
  const auto lookups = taken != calls.end() ? std::next(taken) : calls.end();
  for (auto at = calls.begin(); at != calls.end(); ++at) {
    const StepCall& call = *at;
    const bool is_update = call.kind == StepCall::Kind::end;
    const bool is_norm = call.kind == StepCall::Kind::finish;
    // Each rank updates its slice.
    double share = (is_update || is_norm) && plan.parallel.slices_optimizer()
                       ? 1.0 * plan.parallel.ranks / ranks
                       : 1;
    if (at == lookups) share = gathers_rows ? ranks : 0;
    if (is_update && plan.parallel.slices_optimizer()) {
      TRY(parallel->sum(*stream, nullptr, 1));  // the norm of the gradients
    }
    time.advance(work_of(call.seconds * share, call));
    if (at == taken && !gathers_rows && lookups != calls.end()) {
      time.advance(work_of(lookups->seconds, *lookups));
    }
    TRY(make_call(*parallel, *stream, call, gathers_rows));
  }
  return time.now();
}

}  // namespace assay
