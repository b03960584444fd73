#include "compute/recording/recording_stream.h"

#include <fmt/format.h>

#include "core/host_time.h"

namespace assay {
namespace {

/// A graph and what is in it. Its operations' events outlive the device's own graph.
class RecordedGraph final : public Graph {
 public:
  template <typename List>
  RecordedGraph(std::shared_ptr<List> list, std::unique_ptr<Graph> graph)
      : operations(std::move(list)), inner(std::move(graph)) {}

  std::shared_ptr<const void> kept;  // the operations before an update, until the next one
  std::shared_ptr<const void> operations;
  std::unique_ptr<Graph> inner;
};

/// Collectives of a group begin together, so they are one operation with the sizes of all.
void add_collective(QueuedOperation& group, const QueuedOperation& another) {
  if (group.collective.empty() || another.collective.empty()) return;
  group.sent += another.sent;
  group.received += another.received;
  group.bytes += another.bytes;
  group.bus_bytes += another.bus_bytes;
}

}  // namespace

RecordingStream::RecordingStream(TimelineRecorder& recorder, std::unique_ptr<Stream> inner)
    : recorder_(recorder), inner_(std::move(inner)), lane_(recorder.add_stream(this)) {}

RecordingStream::~RecordingStream() {
  recorder_.remove_stream(this);
}

Result<std::shared_ptr<Event>> RecordingStream::mark() {
  std::shared_ptr<Event> event = TRY(recorder_.device_.create_event());
  if (recorder_.capture_) {
    const Status in_graph = inner_->record_each_replay(*event);
    if (in_graph.ok()) return event;
    if (in_graph.error().kind == ErrorKind::unsupported) {
      recorder_.events_in_graphs_ = false;
      recorder_.timeline_.note("the driver has no events in graphs, so a graph is one operation: " +
                               in_graph.error().message);
    }
    // This stream takes no part in the capture.
    return std::shared_ptr<Event>();
  }
  TRY(inner_->record(*event));
  return event;
}

Status RecordingStream::begin(Operation operation) {
  const bool captured = recorder_.capture_ != nullptr;
  if (recorder_.tracer_ != nullptr) {
    operation.tag = ++recorder_.correlation_;
    TRY(recorder_.begin_tag(operation.tag));
  } else {
    if (captured && !recorder_.events_in_graphs_) return {};
    operation.begin = captured && last_ ? last_ : TRY(mark());
    if (!operation.begin) return {};
  }
  operation.lane = lane_;
  operation.called = host_time();
  open_ = std::move(operation);
  return {};
}

Status RecordingStream::end() {
  if (!open_) return {};
  Operation operation = std::move(*open_);
  open_.reset();
  const std::int64_t called = operation.called;
  if (!recorder_.capture_) {
    operation.correlation = operation.tag != 0 ? operation.tag : ++recorder_.correlation_;
    const char* name = "LaunchKernel";
    if (operation.kind == TraceEventKind::copy) name = "Copy";
    if (operation.kind == TraceEventKind::fill) name = "Fill";
    recorder_.add_call(name, called, operation.correlation);
  } else {
    operation.called = 0;
  }
  if (operation.tag != 0) {
    TRY(recorder_.end_tag(operation.tag));
  } else {
    operation.end = TRY(mark());
    if (!operation.end) return {};
    last_ = recorder_.capture_ ? operation.end : nullptr;
  }
  recorder_.list().operations.push_back(std::move(operation));
  return {};
}

Status RecordingStream::end_of_library() {
  if (!of_library_) return {};
  of_library_ = false;
  return end();
}

template <typename Describe, typename Queue>
Status RecordingStream::recorded(TraceEventKind kind, const Describe& describe,
                                 const Queue& queue) {
  if (depth_ > 0) return queue();
  TRY(end_of_library());
  if (!is_noted()) return queue();
  Operation operation = describe();
  operation.kind = kind;
  TRY(begin(std::move(operation)));
  if (const Status queued = queue(); !queued.ok()) {
    TRY(leave_out());
    return queued;
  }
  return end();
}

Status RecordingStream::leave_out() {
  if (!open_) return {};
  const std::uint64_t tag = open_->tag;
  open_.reset();
  return tag == 0 ? Status() : recorder_.end_tag(tag);
}

template <typename Queue>
Status RecordingStream::recorded_launch(const Kernel& kernel, const LaunchShape& shape,
                                        const Queue& queue) {
  const auto describe = [&] {
    const auto known = recorder_.kernels_.find(&kernel);
    Operation operation;
    operation.what.name = known == recorder_.kernels_.end() ? "kernel" : known->second;
    operation.shape = shape;
    return operation;
  };
  return recorded(TraceEventKind::kernel, describe, queue);
}

template <typename Queue>
Status RecordingStream::recorded_copy(std::size_t bytes, const Queue& queue) {
  const auto describe = [&] {
    Operation operation;
    operation.what.name = "Memcpy";
    operation.what.bytes = static_cast<double>(bytes);
    return operation;
  };
  return recorded(TraceEventKind::copy, describe, queue);
}

Status RecordingStream::launch(const Kernel& kernel, const LaunchShape& shape,
                               std::span<void* const> arguments) {
  return recorded_launch(kernel, shape, [&] { return inner_->launch(kernel, shape, arguments); });
}

Status RecordingStream::launch(const Kernel& kernel, const LaunchShape& shape,
                               const LaunchAttributes& attributes,
                               std::span<void* const> arguments) {
  return recorded_launch(kernel, shape,
                         [&] { return inner_->launch(kernel, shape, attributes, arguments); });
}

Status RecordingStream::launch_packed(const Kernel& kernel, const LaunchShape& shape,
                                      std::span<const std::byte> arguments) {
  return recorded_launch(kernel, shape,
                         [&] { return inner_->launch_packed(kernel, shape, arguments); });
}

Status RecordingStream::copy(void* destination, const void* source, std::size_t bytes) {
  return recorded_copy(bytes, [&] { return inner_->copy(destination, source, bytes); });
}

Status RecordingStream::copy_from_peer(void* destination, int source_ordinal, const void* source,
                                       std::size_t bytes) {
  return recorded_copy(
      bytes, [&] { return inner_->copy_from_peer(destination, source_ordinal, source, bytes); });
}

Status RecordingStream::copy_to_peer(int destination_ordinal, void* destination, const void* source,
                                     std::size_t bytes) {
  return recorded_copy(
      bytes, [&] { return inner_->copy_to_peer(destination_ordinal, destination, source, bytes); });
}

Status RecordingStream::fill(void* destination, std::uint8_t value, std::size_t bytes) {
  const auto describe = [&] {
    Operation operation;
    operation.what.name = "Memset";
    operation.what.bytes = static_cast<double>(bytes);
    return operation;
  };
  return recorded(TraceEventKind::fill, describe,
                  [&] { return inner_->fill(destination, value, bytes); });
}

Status RecordingStream::call(std::function<void()> function) {
  const auto describe = [] {
    Operation operation;
    operation.what.name = "host function";
    return operation;
  };
  return recorded(TraceEventKind::kernel, describe,
                  [&] { return inner_->call(std::move(function)); });
}

Status RecordingStream::launch(Graph& graph) {
  TRY(end_of_library());
  auto& recorded = static_cast<RecordedGraph&>(graph);
  if (!recorder_.in_step_ || recorder_.capture_) return inner_->launch(*recorded.inner);
  const auto list =
      std::static_pointer_cast<const TimelineRecorder::OperationList>(recorded.operations);
  if (list->operations.empty()) {
    Operation operation;
    operation.what.name = "graph";
    operation.kind = TraceEventKind::graph;
    TRY(begin(std::move(operation)));
    TRY(inner_->launch(*recorded.inner));
    return end();
  }
  // A replay takes the times of its events anew, so those of the last one have to be read before.
  for (const auto& replay : recorder_.replays_) {
    if (replay.graph != list || recorder_.tracer_ != nullptr) continue;
    recorder_.waited_ = true;
    TRY(recorder_.read_times());
    break;
  }
  const std::int64_t called = host_time();
  const std::uint64_t correlation = ++recorder_.correlation_;
  TRY(recorder_.begin_tag(correlation));
  const Status launched = inner_->launch(*recorded.inner);
  TRY(recorder_.end_tag(correlation));
  TRY(launched);
  recorder_.add_call("GraphLaunch", called, correlation);
  recorder_.replays_.push_back({list, lane_, correlation, called});
  return {};
}

Status RecordingStream::record(Event& event) {
  TRY(end_of_library());
  return inner_->record(event);
}

Status RecordingStream::wait(const Event& event) {
  TRY(end_of_library());
  last_ = nullptr;
  return inner_->wait(event);
}

Status RecordingStream::synchronize() {
  TRY(end_of_library());
  const std::int64_t called = host_time();
  TRY(inner_->synchronize());
  if (recorder_.in_step_) recorder_.add_call("StreamSynchronize", called, no_number);
  return {};
}

Status RecordingStream::begin_capture() {
  TRY(end_of_library());
  TRY(inner_->begin_capture());
  recorder_.capture_ = std::make_shared<TimelineRecorder::OperationList>();
  for (RecordingStream* stream : recorder_.streams_) stream->last_ = nullptr;
  return {};
}

Result<std::unique_ptr<Graph>> RecordingStream::end_capture() {
  TRY(end_of_library());
  const auto list = std::exchange(recorder_.capture_, nullptr);
  auto graph = TRY(inner_->end_capture());
  return std::unique_ptr<Graph>(std::make_unique<RecordedGraph>(list, std::move(graph)));
}

Result<GraphUpdate> RecordingStream::end_capture_into(Graph& graph) {
  TRY(end_of_library());
  auto& recorded = static_cast<RecordedGraph&>(graph);
  const auto list = std::exchange(recorder_.capture_, nullptr);
  const GraphUpdate update = TRY(inner_->end_capture_into(*recorded.inner));
  const auto before =
      std::static_pointer_cast<const TimelineRecorder::OperationList>(recorded.operations);
  // An updated graph keeps its nodes, so a tracer knows them by the tags of their first capture.
  if (update == GraphUpdate::in_place && list->operations.size() == before->operations.size()) {
    for (std::size_t i = 0; i < list->operations.size(); ++i) {
      list->operations[i].tag = before->operations[i].tag;
    }
  }
  recorded.kept = std::exchange(recorded.operations, list);
  return update;
}

Status RecordingStream::record_each_replay(Event& event) {
  TRY(end_of_library());
  return inner_->record_each_replay(event);
}

Status RecordingStream::upload(Graph& graph) {
  return inner_->upload(*static_cast<RecordedGraph&>(graph).inner);
}

void* RecordingStream::native_handle() {
  if (depth_ == 0 && is_noted() && end_of_library().ok()) {
    Operation operation;
    operation.what.name = "library";
    of_library_ = begin(std::move(operation)).ok();
  }
  return inner_->native_handle();
}

Status RecordingStream::begin_operation(const QueuedOperation& what) {
  if (depth_++ > 0) {
    if (open_) add_collective(open_->what, what);
    return {};
  }
  TRY(end_of_library());
  if (!is_noted()) return {};
  Operation operation;
  operation.what = what;
  return begin(std::move(operation));
}

Status RecordingStream::end_operation() {
  if (--depth_ > 0) return {};
  return end();
}

void RecordingStream::end_part(std::string_view phase, std::string_view name) {
  if (!is_noted() || !end_of_library().ok()) return;
  TimelineRecorder::OperationList& list = recorder_.list();
  if (list.next_part < list.operations.size()) {
    list.parts.push_back(
        {fmt::format("{} {}", phase, name), lane_, list.next_part, list.operations.size()});
  }
  list.next_part = list.operations.size();
}

}  // namespace assay
