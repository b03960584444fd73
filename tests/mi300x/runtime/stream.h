// Streams: each has a queue of steps, a thread that executes them in order, and a model clock.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

#include "runtime/capture.h"
#include "runtime/runtime.h"

namespace mi300x::runtime {

/// A moment in a stream, reached at a time of the model's clock when all earlier work has ended.
class Moment {
 public:
  void reach(double time);
  bool reached() const;
  /// Waits for the moment; returns its time.
  double wait() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool reached_ = false;
  double time_ = 0;
};

/// Does `work` unless the device has failed; a Fault stops the device and ends the work.
double perform(Device& device, const Step& work, double start);

}  // namespace mi300x::runtime

struct ihipStream_t {
 public:
  ihipStream_t(mi300x::runtime::Device& on, unsigned stream_flags, int stream_priority)
      : device(on), flags(stream_flags), priority(stream_priority) {}
  /// Runs what is queued.
  ~ihipStream_t();

  void push(mi300x::runtime::Step step);
  /// The moment after everything that is queued so far.
  std::shared_ptr<mi300x::runtime::Moment> mark();
  bool idle() const;
  void drain() const;
  bool blocking() const { return (flags & hipStreamNonBlocking) == 0; }

  /// The number of streams that are executing work.
  static int running();

  mi300x::runtime::Device& device;
  const unsigned flags;
  const int priority;

  /// Set while the stream is captured, with the predecessors of its next node. Guarded by
  /// capture_mutex().
  std::shared_ptr<mi300x::runtime::Capture> capture;
  std::vector<std::size_t> tail;
  bool spoiled = false;  ///< by a capture that failed, whose state HIP keeps: takes no more work
  std::vector<hipGraphNode_t> told;  ///< the same, as the program asked for it last

 private:
  struct Queued {
    double at;  ///< host clock when the work was queued; it cannot begin earlier
    mi300x::runtime::Step step;
  };
  void work();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Queued> queue_;
  bool busy_ = false, ending_ = false;
  double clock_ = 0;  // model time; used by the worker only
  std::thread worker_;
};

struct ihipEvent_t {
  explicit ihipEvent_t(unsigned event_flags) : flags(event_flags) {}
  const unsigned flags;

  // Guarded by capture_mutex().
  std::shared_ptr<mi300x::runtime::Moment> moment;    ///< recorded last; null: never
  std::shared_ptr<mi300x::runtime::Capture> capture;  ///< or recorded in a capture,
  std::vector<std::size_t> nodes;                     ///< behind these nodes
  ihipStream_t* recorder = nullptr;                   ///< in this stream
};

namespace mi300x::runtime {

/// The stream of a handle; handle 0 is stream 0 of the current device. Null for an invalid handle.
std::shared_ptr<ihipStream_t> stream_of(hipStream_t handle);

/// Queues work, or adds it as a node to the graph into which the stream is captured.
hipError_t submit(hipStream_t handle, Step work);
/// Queues work and waits for it; fails while the stream is captured.
hipError_t submit_and_wait(hipStream_t handle, Step work);

/// Makes the stream wait until `moment`.
void queue_wait(ihipStream_t& stream, const std::shared_ptr<Moment>& moment);
/// Orders the next work in `stream` after stream 0, as HIP does unless `stream` is NonBlocking.
void join_default(ihipStream_t& stream);

}  // namespace mi300x::runtime
