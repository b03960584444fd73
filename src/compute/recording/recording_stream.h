// A stream that a TimelineRecorder records. It queues every call on another stream, `inner`, with
// events around it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compute/recording/timeline_recorder.h"

namespace assay {

class RecordingStream final : public Stream {
 public:
  /// `recorder` must outlive this object.
  RecordingStream(TimelineRecorder& recorder, std::unique_ptr<Stream> inner);
  ~RecordingStream() override;

  /// Waits for the inner stream and records nothing.
  Status settle() { return inner_->synchronize(); }
  Stream& inner() { return *inner_; }
  /// Ends an operation that native_handle() began, because nothing says where it ends.
  Status end_of_library();

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
  Status call(std::function<void()> function) override;
  Status begin_capture() override;
  Result<std::unique_ptr<Graph>> end_capture() override;
  Result<GraphUpdate> end_capture_into(Graph& graph) override;
  Status record_each_replay(Event& event) override;
  Status upload(Graph& graph) override;
  void* native_handle() override;
  bool is_recorded() const override { return true; }
  Status begin_operation(const QueuedOperation& operation) override;
  Status end_operation() override;
  void end_part(std::string_view phase, std::string_view name) override;

 private:
  using Operation = TimelineRecorder::Operation;

  /// Calls `queue()`, between two events if it is to be recorded.
  template <typename Describe, typename Queue>
  Status recorded(TraceEventKind kind, const Describe& describe, const Queue& queue);
  template <typename Queue>
  Status recorded_launch(const Kernel& kernel, const LaunchShape& shape, const Queue& queue);
  template <typename Queue>
  Status recorded_copy(std::size_t bytes, const Queue& queue);
  bool is_noted() const { return recorder_.in_step_ || recorder_.capture_ != nullptr; }
  Status begin(Operation operation);
  Status end();
  /// Forgets the operation that begin() opened, because nothing was queued.
  Status leave_out();
  /// Queues an event of the device, in a capture as part of the graph. Null: the driver has no such
  /// events, or this stream takes no part in the capture.
  Result<std::shared_ptr<Event>> mark();

  TimelineRecorder& recorder_;
  const std::unique_ptr<Stream> inner_;
  const LaneId lane_;
  int depth_ = 0;            // calls of begin_operation() that have not ended
  bool of_library_ = false;  // open_ was begun by native_handle()
  std::optional<Operation> open_;
  std::shared_ptr<Event> last_;  // ended the last operation of this capture, if nothing followed
};

}  // namespace assay
