// Collects events from the threads of all queues of a TCP transport, for the thread that waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/mutex.h"
#include "core/result.h"
#include "ranks/fabric/transport.h"

namespace assay::tcp {

class Inbox {
 public:
  explicit Inbox(int queues) : landed_(static_cast<std::size_t>(queues)) {}

  void complete(const FabricCompletion& completion);  ///< take() returns it later
  /// Call this when a payload without a completion on this end has been stored in the window. Makes
  /// the payload visible to threads that take from this inbox afterwards.
  void landed(int queue);
  /// After all earlier completions have been taken, every take() returns the first failure.
  void fail(Error error);

  /// Waits up to `most` for a completion; returns how many it put into `completions`, 0 if none
  /// came. Error: that of fail().
  Result<std::size_t> take(std::span<FabricCompletion> completions, std::chrono::milliseconds most);
  /// Waits up to `most`; returns whether a payload has landed that no earlier call reported. Error:
  /// that of fail().
  Result<bool> await_landing(int queue, std::chrono::milliseconds most);

 private:
  Mutex mutex_;
  std::condition_variable news_;
  std::deque<FabricCompletion> completions_ GUARDED_BY(mutex_);
  std::vector<std::uint64_t> landed_ GUARDED_BY(mutex_);  // per queue, payloads not yet reported
  std::optional<Error> failure_ GUARDED_BY(mutex_);
};

}  // namespace assay::tcp
