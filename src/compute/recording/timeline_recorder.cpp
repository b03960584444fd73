#include "compute/recording/timeline_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compute/device/peaks.h"
#include "compute/recording/recording_stream.h"
#include "core/host_time.h"

namespace assay {
namespace {

std::uint64_t whole(double value) {
  constexpr double most = 1e18;
  return value > 0 ? static_cast<std::uint64_t>(std::min(std::round(value), most)) : 0;
}

}  // namespace

TimelineRecorder::TimelineRecorder(Device& device, std::string name, ActivityTracer* tracer)
    : device_(device), name_(std::move(name)), tracer_(tracer) {
  take();
}

Timeline TimelineRecorder::take() {
  Timeline begun;
  const DeviceFacts& facts = device_.facts();
  begun.devices[name_] = {facts.name, static_cast<unsigned>(std::max(facts.multiprocessors, 0))};
  begun.format = tracer_ == nullptr ? "own events" : tracer_->name();
  for (const TraceLane& lane : timeline_.lanes()) {  // streams know their lanes
    begun.lane_id({begun.text_id(timeline_.text(lane.process)),
                   begun.text_id(timeline_.text(lane.thread)), lane.gpu});
  }
  host_ = begun.lane_id({begun.text_id("host " + name_), begun.text_id("thread"), false});
  std::swap(begun, timeline_);
  if (waited_) {
    begun.note(
        "a graph was launched several times in a step, and the recorder waited for it in between, "
        "because a replay takes its times anew");
  }
  return begun;
}

LaneId TimelineRecorder::add_stream(RecordingStream* stream) {
  streams_.insert(stream);
  return timeline_.lane_id({timeline_.text_id(name_),
                            timeline_.text_id(fmt::format("stream {}", ++stream_count_)), true});
}

void TimelineRecorder::add_call(std::string_view name, std::int64_t begin,
                                std::uint64_t correlation) {
  TraceEvent event;
  event.kind = TraceEventKind::call;
  event.name = timeline_.text_id(name);
  event.lane = host_;
  event.correlation = correlation;
  timeline_.add(event, begin, host_time());
}

void TimelineRecorder::add_range(std::string_view name, std::int64_t begin, std::int64_t end) {
  TraceEvent event;
  event.kind = TraceEventKind::annotation;
  event.name = timeline_.text_id(name);
  event.lane = host_;
  timeline_.add(event, begin, end);
}

Status TimelineRecorder::find_origin(Stream& stream) {
  if (tracer_ != nullptr) return tracer_->start();
  Stream& inner = static_cast<RecordingStream&>(stream).inner();
  // An event is recorded between the host's times before and after it. The narrowest of several
  // such pairs says best when that was. Where other programs take the CPUs, a pair may be a time
  // slice wide, and more of them are tried.
  constexpr int least_tries = 10;
  constexpr std::int64_t narrow_enough = 10'000, patience = 200'000'000;
  const std::int64_t begin = host_time();
  std::int64_t narrowest = INT64_MAX;
  for (int i = 0; i < least_tries || (narrowest > narrow_enough && host_time() - begin < patience);
       ++i) {
    std::shared_ptr<Event> event = TRY(device_.create_event());
    const std::int64_t before = host_time();
    TRY(inner.record(*event));
    TRY(event->synchronize());
    const std::int64_t after = host_time();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    origin_ = std::move(event);
    origin_time_ = before + narrowest / 2;
  }
  return {};
}

void TimelineRecorder::begin_step(const std::string& name) {
  queued_ = {};
  replays_.clear();
  step_ = name;
  in_step_ = true;
  step_begin_ = host_time();
}

Status TimelineRecorder::end_step() {
  for (RecordingStream* stream : streams_) TRY(stream->end_of_library());
  add_range(step_, step_begin_, host_time());
  const std::size_t known = timeline_.events().size();
  const Status read = read_times();
  in_step_ = false;
  measure_device(known);
  return read;
}

void TimelineRecorder::measure_device(std::size_t known) {
  std::int64_t begin = INT64_MAX, end = 0;
  for (std::size_t i = known; i < timeline_.events().size(); ++i) {
    const TraceEvent& event = timeline_.events()[i];
    if (!is_gpu_work(event.kind)) continue;
    begin = std::min(begin, event.start);
    end = std::max(end, event.end());
  }
  device_seconds_ = end > begin ? static_cast<double>(end - begin) * 1e-9 : 0;
}

/// Moves the anchor along, because devices tell long differences with fewer digits.
Result<std::int64_t> TimelineRecorder::time_of(const Event& event, Anchor& anchor) {
  constexpr std::int64_t far = 20'000'000;
  const std::int64_t later = std::llround(TRY(event.seconds_since(*anchor.event)) * 1e9);
  const std::int64_t time = anchor.time + later;
  if (later > far) anchor = {&event, time};
  return time;
}

/// Returns the ns that the operation takes at the device's peak rates; 0: unknown.
std::uint64_t TimelineRecorder::least_time(const QueuedOperation& operation) const {
  const DeviceFacts& facts = device_.facts();
  double seconds = 0;
  if (facts.emulated || !operation.collective.empty()) return 0;
  const auto rate = peak_compute_rate(facts, operation.math);
  if (operation.flops > 0 && rate) seconds = operation.flops / rate->rate;
  const auto bandwidth = peak_memory_bandwidth(facts);
  if (operation.bytes > 0 && bandwidth) {
    seconds = std::max(seconds, operation.bytes / bandwidth->rate);
  }
  return whole(seconds * 1e9);
}

EventDetail TimelineRecorder::detail_of(const Operation& operation) {
  const QueuedOperation& what = operation.what;
  EventDetail detail;
  const Dim3 &grid = operation.shape.grid, &block = operation.shape.block;
  if (what.shapes.empty() && what.collective.empty() && operation.kind == TraceEventKind::kernel) {
    detail.grid = {grid.x, grid.y, grid.z};
    detail.block = {block.x, block.y, block.z};
  }
  detail.bytes = whole(what.bytes);
  detail.flops = whole(what.flops);
  detail.bus_bytes = whole(what.bus_bytes);
  detail.shapes = timeline_.text_id(what.shapes);
  if (what.collective.empty()) {
    detail.types = timeline_.text_id(what.types);
    if (operation.kind == TraceEventKind::kernel) detail.least = least_time(what);
  } else {
    detail.collective = timeline_.text_id(what.collective);
    detail.data_type = timeline_.text_id(what.types);
    detail.elements_in = what.sent;
    detail.elements_out = what.received;
    detail.group_size = static_cast<std::uint32_t>(what.ranks);
  }
  return detail;
}

void TimelineRecorder::add_parts(const OperationList& list,
                                 std::span<const std::optional<Range>> ranges) {
  for (const Part& part : list.parts) {
    std::optional<Range> whole_part;
    for (std::size_t i = part.first; i < part.last; ++i) {
      if (list.operations[i].lane != part.lane || !ranges[i]) continue;
      if (!whole_part) whole_part = ranges[i];
      whole_part->end = std::max(whole_part->end, ranges[i]->end);
    }
    if (!whole_part) continue;
    TraceEvent event;
    event.kind = TraceEventKind::gpu_annotation;
    event.name = timeline_.text_id(part.name);
    event.lane = part.lane;
    timeline_.add(event, whole_part->begin, whole_part->end);
  }
}

Status TimelineRecorder::read_list(const OperationList& list, std::uint64_t correlation,
                                   std::int64_t called) {
  std::vector<std::optional<Range>> ranges;
  Anchor anchor{origin_.get(), origin_time_};
  for (const Operation& operation : list.operations) {
    TraceEvent event;
    event.kind = operation.kind;
    event.name = timeline_.text_id(operation.what.name);
    event.lane = operation.lane;
    event.correlation = operation.correlation == no_number ? correlation : operation.correlation;
    event.detail = timeline_.detail_id(detail_of(operation));
    // An idle device reaches the first event before the call that follows it.
    const std::int64_t earliest = operation.called != 0 ? operation.called : called;
    const std::int64_t begin = std::max(TRY(time_of(*operation.begin, anchor)), earliest);
    const std::int64_t end = std::max(TRY(time_of(*operation.end, anchor)), begin);
    ranges.push_back(Range{begin, end});
    timeline_.add(event, begin, end);
  }
  add_parts(list, ranges);
  return {};
}

Status TimelineRecorder::begin_tag(std::uint64_t tag) {
  if (tracer_ == nullptr) return {};
  open_tags_.push_back(tag);
  return tracer_->tag(tag);
}

Status TimelineRecorder::end_tag(std::uint64_t tag) {
  if (tracer_ == nullptr) return {};
  std::erase(open_tags_, tag);
  return tracer_->tag(open_tags_.empty() ? 0 : open_tags_.back());
}

/// A list of operations as the device ran it once.
struct TimelineRecorder::RunOfList {
  const OperationList* list;
  LaneId lane;  ///< for kernels that belong to no operation of the list
  std::uint64_t correlation;
  std::map<std::uint64_t, std::size_t> operations;  ///< by tag
  std::vector<std::optional<Range>> ranges;

  RunOfList(const OperationList& of, LaneId lane_of_call, std::uint64_t correlation_of_call)
      : list(&of), lane(lane_of_call), correlation(correlation_of_call) {
    for (std::size_t i = 0; i < of.operations.size(); ++i) operations[of.operations[i].tag] = i;
    ranges.resize(of.operations.size());
  }
};

Status TimelineRecorder::read_activities() {
  for (RecordingStream* stream : streams_) TRY(stream->settle());
  const std::vector<DeviceActivity> activities = TRY(tracer_->stop());
  std::vector<RunOfList> runs;
  runs.emplace_back(queued_, 0, no_number);
  std::map<std::uint64_t, std::size_t> run_of_call;
  for (const Operation& operation : queued_.operations) run_of_call[operation.tag] = 0;
  for (const Replay& replay : replays_) {
    run_of_call[replay.correlation] = runs.size();
    runs.emplace_back(*replay.graph, replay.lane, replay.correlation);
  }
  // What is known of an operation goes to its longest kernel, so that nothing is counted twice.
  using Tags = std::pair<std::uint64_t, std::uint64_t>;
  std::map<Tags, const DeviceActivity*> longest;
  for (const DeviceActivity& activity : activities) {
    const DeviceActivity*& best = longest[{activity.call_tag, activity.node_tag}];
    if (best == nullptr || activity.end - activity.begin > best->end - best->begin) {
      best = &activity;
    }
  }
  std::map<LaneId, std::int64_t> ends;
  for (const DeviceActivity& activity : activities) {
    // Without a tag it is from before the step.
    const auto called = run_of_call.find(activity.call_tag);
    if (called == run_of_call.end()) continue;
    RunOfList& run = runs[called->second];
    const auto found =
        run.operations.find(called->second == 0 ? activity.call_tag : activity.node_tag);
    const Operation* const operation =
        found == run.operations.end() ? nullptr : &run.list->operations[found->second];
    TraceEvent event;
    event.kind = activity.kind;
    event.lane = operation == nullptr ? run.lane : operation->lane;
    event.correlation = called->second == 0 ? activity.call_tag : run.correlation;
    EventDetail detail;
    if (operation != nullptr && longest.at({activity.call_tag, activity.node_tag}) == &activity) {
      detail = detail_of(*operation);
    }
    if (activity.kind == TraceEventKind::kernel) {
      event.name = timeline_.text_id(activity.name);
      detail.grid = activity.grid;
      detail.block = activity.block;
    } else {
      event.name = timeline_.text_id(activity.kind == TraceEventKind::copy ? "Memcpy" : "Memset");
      detail.bytes = activity.bytes;
    }
    event.detail = timeline_.detail_id(detail);
    // A kernel may begin while the one before it on its stream ends; it is shown from there on.
    std::int64_t& last_end = ends.try_emplace(event.lane, activity.begin).first->second;
    const std::int64_t begin = std::max(activity.begin, last_end);
    last_end = std::max(activity.end, begin);
    timeline_.add(event, begin, last_end);
    if (operation == nullptr) continue;
    std::optional<Range>& range = run.ranges[found->second];
    range = Range{range ? range->begin : begin, last_end};
  }
  std::size_t silent = 0;
  for (const RunOfList& run : runs) {
    add_parts(*run.list, run.ranges);
    for (const std::optional<Range>& range : run.ranges) silent += range ? 0 : 1;
  }
  if (silent > 0) {
    timeline_.note("an operation was queued of which " + tracer_->name() +
                       " saw no kernel, copy or fill: host functions, or a gap in the trace",
                   silent);
  }
  queued_ = {};
  replays_.clear();
  return {};
}

Status TimelineRecorder::read_times() {
  if (tracer_ != nullptr) return read_activities();
  for (RecordingStream* stream : streams_) TRY(stream->settle());
  TRY(read_list(queued_, no_number, 0));
  queued_ = {};
  for (const Replay& replay : replays_) {
    TRY(read_list(*replay.graph, replay.correlation, replay.called));
  }
  replays_.clear();
  return {};
}

class RecordingDevice final : public ForwardingDevice {
 public:
  RecordingDevice(Device& device, TimelineRecorder& recorder)
      : ForwardingDevice(device), recorder_(recorder) {}

  Result<std::unique_ptr<Stream>> create_stream(StreamPriority priority) override {
    auto stream = TRY(inner().create_stream(priority));
    return std::unique_ptr<Stream>(std::make_unique<RecordingStream>(recorder_, std::move(stream)));
  }
  Result<std::unique_ptr<Program>> build(const ProgramSource& source) override {
    return named(TRY(inner().build(source)));
  }
  Result<std::unique_ptr<Program>> load(const std::string& name, const std::string& code) override {
    return named(TRY(inner().load(name, code)));
  }
  bool is_recorded() const override { return true; }

 private:
  std::unique_ptr<Program> named(std::unique_ptr<Program> program) {
    return std::make_unique<NamedProgram>(recorder_.kernels_, std::move(program));
  }

  TimelineRecorder& recorder_;
};

std::unique_ptr<Device> recorded_device(Device& device, TimelineRecorder& recorder) {
  return std::make_unique<RecordingDevice>(device, recorder);
}

}  // namespace assay
