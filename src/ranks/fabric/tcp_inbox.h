// What the threads of all queues of a TCP transport have to tell the one that waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"
#include "ranks/fabric/transport.h"

namespace assay::tcp {

class Inbox {
 public:
  explicit Inbox(int queues) : landed_(static_cast<std::size_t>(queues)) {}

  void complete(const FabricCompletion& completion);
  /// A payload that gives no completion here is in the window: whoever takes from this inbox later
  /// sees it.
  void landed(int queue);
  /// The first failure is what every later take() returns, once what came before it is taken.
  void fail(Error error);

  Result<std::size_t> take(std::span<FabricCompletion> completions, std::chrono::milliseconds most);
  /// Whether a payload has landed that was not awaited yet.
  Result<bool> await_landing(int queue, std::chrono::milliseconds most);

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<FabricCompletion> completions_;
  std::vector<std::uint64_t> landed_;  // of each queue, not yet awaited
  std::optional<Error> failure_;
};

}  // namespace assay::tcp
