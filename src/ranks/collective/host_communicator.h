// Base class of communicators whose operations block a thread of the host until they are complete.
#pragma once

#include <optional>
#include <string>

#include "core/mutex.h"
#include "ranks/collective/communicator.h"

namespace assay {

/// enqueue() copies the call or the messages, not the memory that they name, and queues run() or
/// transfer() with Stream::call(). A derived class implements these two and the rest of
/// Communicator. They are therefore also called on the stream's own thread, with this stream, which
/// they must neither use nor wait for.
///
/// After the first error of queued work, the work queued behind it does nothing, and enqueue() and
/// status() return this error.
class HostCommunicator : public Communicator {
 public:
  /// False, because run() itself is complete when it returns; only enqueue() uses the stream.
  bool queues_on_stream() const final { return false; }
  Status enqueue(const CollectiveCall& call, Stream& stream) final;
  Status enqueue(std::span<const Message> sends, std::span<const Message> receives,
                 Stream& stream) final;
  Status status() const final;

 protected:
  /// Returns why host functions cannot call this library; empty if they can. If there is a reason,
  /// enqueue() fails with it as `unsupported`.
  virtual std::optional<std::string> no_host_functions() const { return std::nullopt; }

 private:
  Status can_queue() const;
  template <typename Operation>
  Status queue(Stream& stream, Operation operation);

  mutable Mutex mutex_;
  Status first_ GUARDED_BY(mutex_);  // the first error, or ok
};

}  // namespace assay
