// Streams, events and graphs over the driver's function table.
#pragma once

#include <memory>

#include "compute/backends/driver/place.h"
#include "compute/device/device.h"

namespace assay::driver {

/// The state of a capture, shared by its streams and the events that they record.
struct DriverCapture {
  bool ended = false, failed = false;
};

class DriverEvent : public Event {
 public:
  static Result<std::unique_ptr<Event>> create(const Place& place, EventKind kind);
  ~DriverEvent() override;

  Status synchronize() override;
  Result<bool> done() const override;
  Result<double> seconds_since(const Event& start) const override;
  EventObject* object() const { return event_; }
  /// Returns the capture in which the event was recorded last; null if it was in none.
  const std::shared_ptr<DriverCapture>& capture() const { return capture_; }
  void set_capture(std::shared_ptr<DriverCapture> capture) { capture_ = std::move(capture); }

 private:
  DriverEvent(const Place& place, EventObject* event, EventKind kind)
      : place_(place), event_(event), kind_(kind) {}

  const Place& place_;
  EventObject* event_;
  EventKind kind_;
  std::shared_ptr<DriverCapture> capture_;
};

class DriverGraph : public Graph {
 public:
  /// Takes ownership of `graph`, even on failure.
  static Result<std::unique_ptr<Graph>> create(const Place& place, GraphObject* graph);
  ~DriverGraph() override;

  /// Takes ownership of `graph`, even on failure.
  Result<GraphUpdate> update(GraphObject* graph);
  GraphExecObject* object() const { return exec_; }

 private:
  DriverGraph(const Place& place, GraphObject* graph) : place_(place), graph_(graph) {}

  const Place& place_;
  GraphObject* graph_;  // the graph that exec_ was instantiated from
  GraphExecObject* exec_ = nullptr;
};

class DriverStream : public Stream {
 public:
  static Result<std::unique_ptr<Stream>> create(const Place& place, StreamPriority priority);
  ~DriverStream() override;

  Status launch(const Kernel& kernel, const LaunchShape& shape,
                std::span<void* const> arguments) override;
  Status launch(const Kernel& kernel, const LaunchShape& shape, const LaunchAttributes& attributes,
                std::span<void* const> arguments) override;
  Status launch_packed(const Kernel& kernel, const LaunchShape& shape,
                       std::span<const std::byte> arguments) override;
  Status launch(Graph& graph) override;
  Status copy(void* destination, const void* source, std::size_t bytes) override;
  Status copy_from_peer(void* destination, int source_ordinal, const void* source,
                        std::size_t bytes) override;
  Status copy_to_peer(int destination_ordinal, void* destination, const void* source,
                      std::size_t bytes) override;
  Status fill(void* destination, std::uint8_t value, std::size_t bytes) override;
  Status record(Event& event) override;
  Status wait(const Event& event) override;
  Status synchronize() override;
  Status begin_capture() override;
  Result<std::unique_ptr<Graph>> end_capture() override;
  Result<GraphUpdate> end_capture_into(Graph& graph) override;
  Status record_each_replay(Event& event) override;
  Status upload(Graph& graph) override;
  void* native_handle() override { return native(); }

 private:
  DriverStream(const Place& place, StreamObject* stream, int priority)
      : place_(place), stream_(stream), priority_(priority) {}
  Result<GraphObject*> end();
  /// Returns the driver's stream. If a failed capture has spoiled it, makes a new one first.
  StreamObject* native();
  /// Replaces the driver's stream by a new one.
  void renew();

  const Place& place_;
  StreamObject* stream_;
  const int priority_;                      // in the driver's numbering
  std::shared_ptr<DriverCapture> capture_;  // the capture that this stream is part of, or was last
  std::shared_ptr<DriverCapture> begun_;    // the one that began on this stream, until it ends
  std::vector<StreamObject*> spoiled_;      // replaced by renew(); destroyed with this object
};

}  // namespace assay::driver
