#include "compute/backends/driver/driver_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compute/backends/driver/driver_program.h"

namespace assay::driver {

// ---- Events ----

Result<std::unique_ptr<Event>> DriverEvent::create(const Place& place, EventKind kind) {
  EventObject* event = nullptr;
  const unsigned flags = kind == EventKind::timed ? event_default : event_disable_timing;
  PLACE_TRY(place, place.api().event_create(&event, flags), "creating an event");
  return std::unique_ptr<Event>(new DriverEvent(place, event, kind));
}

DriverEvent::~DriverEvent() {
  if (place_.activate() == code::success) place_.api().event_destroy(event_);
}

Status DriverEvent::synchronize() {
  PLACE_TRY(place_, place_.api().event_synchronize(event_), "waiting for an event");
  return {};
}

Result<bool> DriverEvent::done() const {
  Code result = place_.activate();
  if (result == code::success) result = place_.api().event_query(event_);
  if (result == code::not_ready) return false;
  if (result != code::success) return place_.error(result, "querying an event");
  return true;
}

Result<double> DriverEvent::seconds_since(const Event& start) const {
  const auto& begin = static_cast<const DriverEvent&>(start);
  if (kind_ == EventKind::untimed || begin.kind_ == EventKind::untimed) return no_event_time();
  float milliseconds = 0;
  PLACE_TRY(place_, place_.api().event_elapsed(&milliseconds, begin.event_, event_),
            "reading the time between two events");
  return milliseconds * 1e-3;
}

// ---- Graphs ----

Result<std::unique_ptr<Graph>> DriverGraph::create(const Place& place, GraphObject* graph) {
  std::unique_ptr<DriverGraph> made(new DriverGraph(place, graph));
  PLACE_TRY(place, place.dialect().instantiate(&made->exec_, graph), "instantiating a graph");
  return std::unique_ptr<Graph>(std::move(made));
}

Result<GraphUpdate> DriverGraph::update(GraphObject* graph) {
  GraphNodeObject* unlike = nullptr;
  int reason = 0;
  Code result = place_.activate();
  if (result == code::success) result = place_.api().graph_update(exec_, graph, &unlike, &reason);
  if (result == code::success) {
    place_.api().graph_destroy(graph);
    return GraphUpdate::in_place;
  }
  // A new graph may accept a capture that the update rejected. A failed update may have changed
  // nodes, but only those of the old graph.
  auto made = TRY(create(place_, graph));
  auto& fresh = static_cast<DriverGraph&>(*made);
  std::swap(graph_, fresh.graph_);
  std::swap(exec_, fresh.exec_);
  return GraphUpdate::rebuilt;
}

DriverGraph::~DriverGraph() {
  if (place_.activate() != code::success) return;
  if (exec_ != nullptr) place_.api().graph_exec_destroy(exec_);
  place_.api().graph_destroy(graph_);
}

// ---- Streams ----

Result<std::unique_ptr<Stream>> DriverStream::create(const Place& place, StreamPriority priority) {
  int least = 0, greatest = 0;  // numerically least >= 0 >= greatest
  PLACE_TRY(place, place.api().stream_priorities(&least, &greatest), "reading stream priorities");
  const int number = priority == StreamPriority::low    ? least
                     : priority == StreamPriority::high ? greatest
                                                        : std::clamp(0, greatest, least);
  StreamObject* stream = nullptr;
  PLACE_TRY(place, place.api().stream_create(&stream, stream_non_blocking, number),
            "creating a stream");
  return std::unique_ptr<Stream>(new DriverStream(place, stream, number));
}

DriverStream::~DriverStream() {
  if (place_.activate() != code::success) return;
  place_.api().stream_destroy(stream_);
  for (StreamObject* const stream : spoiled_) place_.api().stream_destroy(stream);
}

Status DriverStream::launch(const Kernel& kernel, const LaunchShape& shape,
                            std::span<void* const> arguments) {
  const auto& function = static_cast<const DriverKernel&>(kernel);
  const Dim3 &grid = shape.grid, &block = shape.block;
  PLACE_TRY(place_,
            place_.api().launch(function.object(), grid.x, grid.y, grid.z, block.x, block.y,
                                block.z, shape.dynamic_shared_bytes, native(),
                                const_cast<void**>(arguments.data()), nullptr),
            fmt::format("launching {} with grid {}x{}x{}, block {}x{}x{}, {} bytes of dynamic "
                        "shared memory",
                        function.name(), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                        shape.dynamic_shared_bytes));
  return {};
}

Status DriverStream::launch(const Kernel& kernel, const LaunchShape& shape,
                            const LaunchAttributes& attributes, std::span<void* const> arguments) {
  const Abilities& able = place_.abilities();
  const auto& function = static_cast<const DriverKernel&>(kernel);
  const Dim3 &grid = shape.grid, &block = shape.block, &cluster = attributes.cluster;
  const bool clusters = has_clusters(cluster);
  if (clusters && !able.clusters) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{}:{} has no clusters of blocks, which {} is launched with: launch "
                             "without",
                             place_.dialect().backend(), place_.ordinal(), function.name())};
  }
  if (clusters) TRY(check_cluster(cluster, grid));
  const LaunchAttributes possible = {cluster, attributes.programmatic && able.programmatic_launch};
  if (!clusters && !possible.programmatic) return launch(kernel, shape, arguments);
  PLACE_TRY(place_,
            place_.dialect().launch(function.object(), shape, possible, native(),
                                    const_cast<void**>(arguments.data())),
            fmt::format("launching {} with grid {}x{}x{}, block {}x{}x{}, cluster {}x{}x{}, {} "
                        "bytes of dynamic shared memory{}",
                        function.name(), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                        cluster.x, cluster.y, cluster.z, shape.dynamic_shared_bytes,
                        possible.programmatic ? ", programmatic" : ""));
  return {};
}

Status DriverStream::launch_packed(const Kernel& kernel, const LaunchShape& shape,
                                   std::span<const std::byte> arguments) {
  const auto& function = static_cast<const DriverKernel&>(kernel);
  const Dim3 &grid = shape.grid, &block = shape.block;
  std::size_t bytes = arguments.size();
  const auto word = [](std::uintptr_t value) { return reinterpret_cast<void*>(value); };
  void* extra[] = {word(launch_buffer), const_cast<std::byte*>(arguments.data()),
                   word(launch_buffer_size), &bytes, word(place_.dialect().end_of_launch())};
  PLACE_TRY(place_,
            place_.api().launch(function.object(), grid.x, grid.y, grid.z, block.x, block.y,
                                block.z, shape.dynamic_shared_bytes, native(), nullptr, extra),
            fmt::format("launching {} with grid {}x{}x{}, block {}x{}x{}, {} bytes of arguments",
                        function.name(), grid.x, grid.y, grid.z, block.x, block.y, block.z, bytes));
  return {};
}

Status DriverStream::launch(Graph& graph) {
  PLACE_TRY(place_, place_.api().graph_launch(static_cast<DriverGraph&>(graph).object(), native()),
            "launching a graph");
  return {};
}

Status DriverStream::copy(void* destination, const void* source, std::size_t bytes) {
  PLACE_TRY(place_, place_.dialect().copy(destination, source, bytes, native()),
            fmt::format("copying {} bytes", bytes));
  return {};
}

Status DriverStream::copy_from_peer(void* destination, int source_ordinal, const void* source,
                                    std::size_t bytes) {
  PLACE_TRY(place_,
            place_.dialect().copy_peer(destination, place_.ordinal(), source, source_ordinal, bytes,
                                       native()),
            fmt::format("copying {} bytes from {}:{}", bytes, place_.dialect().backend(),
                        source_ordinal));
  return {};
}

Status DriverStream::copy_to_peer(int destination_ordinal, void* destination, const void* source,
                                  std::size_t bytes) {
  PLACE_TRY(place_,
            place_.dialect().copy_peer(destination, destination_ordinal, source, place_.ordinal(),
                                       bytes, native()),
            fmt::format("copying {} bytes to {}:{}", bytes, place_.dialect().backend(),
                        destination_ordinal));
  return {};
}

Status DriverStream::fill(void* destination, std::uint8_t value, std::size_t bytes) {
  PLACE_TRY(place_, place_.api().fill(destination, value, bytes, native()),
            fmt::format("filling {} bytes", bytes));
  return {};
}

Status DriverStream::record(Event& event) {
  auto& recorded = static_cast<DriverEvent&>(event);
  PLACE_TRY(place_, place_.api().event_record(recorded.object(), native()), "recording an event");
  recorded.set_capture(capture_);
  return {};
}

Status DriverStream::wait(const Event& event) {
  const auto& awaited = static_cast<const DriverEvent&>(event);
  PLACE_TRY(place_, place_.api().stream_wait(native(), awaited.object(), 0),
            "making a stream wait for an event");
  if (awaited.capture() && !awaited.capture()->ended) capture_ = awaited.capture();
  return {};
}

Status DriverStream::synchronize() {
  PLACE_TRY(place_, place_.api().stream_synchronize(native()), "waiting for a stream");
  return {};
}

Status DriverStream::begin_capture() {
  PLACE_TRY(place_, place_.api().capture_begin(native(), capture_relaxed), "beginning a capture");
  capture_ = std::make_shared<DriverCapture>();
  begun_ = capture_;
  return {};
}

Result<std::unique_ptr<Graph>> DriverStream::end_capture() {
  return DriverGraph::create(place_, TRY(end()));
}

Result<GraphUpdate> DriverStream::end_capture_into(Graph& graph) {
  return static_cast<DriverGraph&>(graph).update(TRY(end()));
}

Result<GraphObject*> DriverStream::end() {
  const std::shared_ptr<DriverCapture> begun = std::exchange(begun_, nullptr);
  GraphObject* graph = nullptr;
  Code result = place_.activate();
  if (result == code::success) result = place_.api().capture_end(stream_, &graph);
  if (begun) *begun = {true, result != code::success};
  if (result == code::success) return graph;
  return place_.error(result, "ending a capture");
}

StreamObject* DriverStream::native() {
  if (capture_ && capture_->ended) {
    const bool failed = std::exchange(capture_, nullptr)->failed;
    if (failed && place_.dialect().failed_captures_spoil_streams()) renew();
  }
  return stream_;
}

/// If no new stream can be made, the old one stays and reports the error.
void DriverStream::renew() {
  // Work queued before the capture must precede later work. This fails if the capture is still
  // alive.
  (void)place_.api().stream_synchronize(stream_);
  StreamObject* fresh = nullptr;
  const Code made = place_.api().stream_create(&fresh, stream_non_blocking, priority_);
  if (made == code::success) spoiled_.push_back(std::exchange(stream_, fresh));
}

Status DriverStream::record_each_replay(Event& event) {
  const char* const doing = "recording an event at each replay";
  int status = 0;
  PLACE_TRY(place_, place_.api().capture_status(native(), &status), doing);
  if (status != capture_active) {
    return Error{ErrorKind::failed,
                 fmt::format("{}:{}: record_each_replay() on a stream that is not captured",
                             place_.dialect().backend(), place_.ordinal())};
  }
  EventObject* const object = static_cast<DriverEvent&>(event).object();
  PLACE_TRY(place_, place_.dialect().record_each_replay(object, native()), doing);
  return {};
}

Status DriverStream::upload(Graph& graph) {
  const auto upload = place_.api().graph_upload;
  PLACE_TRY(place_,
            upload == nullptr ? code::not_supported
                              : upload(static_cast<DriverGraph&>(graph).object(), native()),
            "uploading a graph");
  return {};
}

}  // namespace assay::driver
