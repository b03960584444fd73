#include "compute/recording/timeline_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compute/device/peaks.h"
#include "compute/recording/recording_stream.h"

namespace assay {
namespace {

std::uint64_t whole(double value) {
  constexpr double most = 1e18;
  return value > 0 ? static_cast<std::uint64_t>(std::min(std::round(value), most)) : 0;
}

}  // namespace

std::int64_t host_time() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TimelineRecorder::TimelineRecorder(Device& device, std::string name)
    : device_(device), name_(std::move(name)) {
  take();
}

Timeline TimelineRecorder::take() {
  Timeline begun;
  const DeviceFacts& facts = device_.facts();
  begun.devices[name_] = {facts.name, static_cast<unsigned>(std::max(facts.multiprocessors, 0))};
  begun.format = "own events";
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
  Stream& inner = static_cast<RecordingStream&>(stream).inner();
  // An event is recorded between the host's times before and after it. The narrowest of several
  // such pairs says best when that was.
  constexpr int tries = 10;
  std::int64_t narrowest = INT64_MAX;
  for (int i = 0; i < tries; ++i) {
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
  add_range(step_, step_begin_, host_time());
  TRY(read_times());
  in_step_ = false;
  return {};
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

Status TimelineRecorder::read_list(const OperationList& list, std::uint64_t correlation,
                                   std::int64_t called) {
  struct Range {
    std::int64_t begin, end;
  };
  std::vector<Range> ranges;
  Anchor anchor{origin_.get(), origin_time_};
  for (const Operation& operation : list.operations) {
    TraceEvent event;
    event.kind = operation.kind;
    event.name = timeline_.text_id(operation.what.name);
    event.lane = operation.lane;
    event.correlation = operation.correlation == no_number ? correlation : operation.correlation;
    const QueuedOperation& what = operation.what;
    EventDetail detail;
    const Dim3 &grid = operation.shape.grid, &block = operation.shape.block;
    if (what.shapes.empty() && what.collective.empty() &&
        operation.kind == TraceEventKind::kernel) {
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
    event.detail = timeline_.detail_id(detail);
    // An idle device reaches the first event before the call that follows it.
    const std::int64_t earliest = operation.called != 0 ? operation.called : called;
    const std::int64_t begin = std::max(TRY(time_of(*operation.begin, anchor)), earliest);
    const std::int64_t end = std::max(TRY(time_of(*operation.end, anchor)), begin);
    ranges.push_back({begin, end});
    timeline_.add(event, begin, end);
  }
  for (const Part& part : list.parts) {
    std::optional<Range> whole_part;
    for (std::size_t i = part.first; i < part.last; ++i) {
      if (list.operations[i].lane != part.lane) continue;
      if (!whole_part) whole_part = ranges[i];
      whole_part->end = std::max(whole_part->end, ranges[i].end);
    }
    if (!whole_part) continue;
    TraceEvent event;
    event.kind = TraceEventKind::gpu_annotation;
    event.name = timeline_.text_id(part.name);
    event.lane = part.lane;
    timeline_.add(event, whole_part->begin, whole_part->end);
  }
  return {};
}

Status TimelineRecorder::read_times() {
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
