// Records what a device and the host thread that drives it do when. An operation is a kernel, a
// copy, a fill, or what queue_operation() describes. Its times come from events of the device
// around it, which works on every backend; in captured graphs the events are part of the graph, and
// one event ends an operation and begins the next. With a vendor's tracing library they come from
// that library, kernel by kernel, and no event is queued. Graphs may be captured between steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compute/device/forwarding_device.h"
#include "compute/device/queued_operation.h"
#include "compute/recording/activity_tracer.h"
#include "results/timeline/timeline.h"

namespace assay {

class RecordingStream;

/// Used by one thread at a time, the one that drives the device. Errors are those of the device.
class TimelineRecorder {
 public:
  /// `name` is that of the GPU in the timeline, "0". `tracer` may be null: by events; otherwise it
  /// must outlive this and be opened before any graph is captured.
  TimelineRecorder(Device& device, std::string name, ActivityTracer* tracer = nullptr);

  /// Finds the host's time of an event of the device, from which all others are counted, or starts
  /// the tracer. `stream` is one of recorded_device(); the device must be idle.
  Status find_origin(Stream& stream);
  /// Begins a step after find_origin(): what is queued from here on is recorded. What was queued
  /// before may still run, and is not.
  void begin_step(const std::string& name);
  /// Ends the step, waits for all recorded streams, and reads the times of its operations.
  Status end_step();
  /// Returns the seconds from the begin of the last step's first operation on the device to the end
  /// of its last one; 0 if it had none.
  double device_seconds() const { return device_seconds_; }
  /// Adds a range of the host thread; times are those of host_time().
  void add_range(std::string_view name, std::int64_t begin, std::int64_t end);
  /// Returns everything recorded, and begins anew.
  Timeline take();

 private:
  friend class RecordingStream;
  friend class RecordingDevice;

  struct Operation {
    QueuedOperation what;
    TraceEventKind kind = TraceEventKind::kernel;
    LaneId lane = 0;
    LaunchShape shape;
    std::uint64_t correlation = no_number;  ///< the host's call that queued it has the same number
    std::uint64_t tag = 0;              ///< that its device activities carry; 0: there is no tracer
    std::int64_t called = 0;            ///< host time of the call; 0: in a graph
    std::shared_ptr<Event> begin, end;  ///< null with a tracer
  };
  /// Operations of a part of a step, from `first` until before `last`.
  struct Part {
    std::string name;
    LaneId lane = 0;
    std::size_t first = 0, last = 0;
  };
  struct OperationList {
    std::vector<Operation> operations;
    std::vector<Part> parts;
    std::size_t next_part = 0;  ///< the first operation of the part that has not ended
  };
  struct Replay {
    std::shared_ptr<const OperationList> graph;
    LaneId lane = 0;  ///< of the stream that launched it
    std::uint64_t correlation = no_number;
    std::int64_t called = 0;
  };

  struct RunOfList;

  LaneId add_stream(RecordingStream* stream);
  void remove_stream(RecordingStream* stream) { streams_.erase(stream); }
  OperationList& list() { return capture_ ? *capture_ : queued_; }
  Status read_times();
  /// Sets device_seconds_ from the events that were added after the first `known`.
  void measure_device(std::size_t known);
  Status read_list(const OperationList& list, std::uint64_t correlation, std::int64_t called);
  Status read_activities();
  struct Range {
    std::int64_t begin, end;
  };
  /// `ranges`: when each operation of the list ran; empty: it did nothing on the device.
  void add_parts(const OperationList& list, std::span<const std::optional<Range>> ranges);
  EventDetail detail_of(const Operation& operation);
  /// Tags what follows as the operation's; end_tag() ends that of the one that began last.
  Status begin_tag(std::uint64_t tag);
  Status end_tag(std::uint64_t tag);
  struct Anchor {
    const Event* event;
    std::int64_t time;
  };
  static Result<std::int64_t> time_of(const Event& event, Anchor& anchor);
  std::uint64_t least_time(const QueuedOperation& operation) const;
  void add_call(std::string_view name, std::int64_t begin, std::uint64_t correlation);

  Device& device_;
  const std::string name_;
  ActivityTracer* const tracer_;
  std::vector<std::uint64_t> open_tags_;
  Timeline timeline_;
  LaneId host_ = 0;
  KernelNames kernels_;
  std::set<RecordingStream*> streams_;
  std::size_t stream_count_ = 0;
  bool in_step_ = false;
  bool events_in_graphs_ = true;
  std::string step_;
  std::int64_t step_begin_ = 0;
  double device_seconds_ = 0;
  std::shared_ptr<OperationList> capture_;  ///< of the graph that is being captured
  OperationList queued_;
  std::vector<Replay> replays_;
  std::uint64_t correlation_ = 0;
  std::shared_ptr<Event> origin_;  ///< recorded at origin_time_
  std::int64_t origin_time_ = 0;
  bool waited_ = false;  ///< whether a step had to wait for a graph that it launched again
};

/// Returns a device whose streams `recorder` records. Both arguments must outlive it; `device` is
/// the recorder's.
std::unique_ptr<Device> recorded_device(Device& device, TimelineRecorder& recorder);

}  // namespace assay
