// Notices that no thread reports progress any more, e.g. because one is stuck inside a driver's
// call that never returns.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <thread>

#include "core/mutex.h"

namespace assay {

class Watchdog {
 public:
  /// Calls `on_silence` from a separate thread when `patience_seconds` have passed since the last
  /// progress(), or since construction if there was none. It calls it at most once.
  Watchdog(double patience_seconds, std::function<void()> on_silence);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  /// Stops watching; waits for `on_silence` to return if it is running. So `on_silence` must not
  /// destroy the watchdog.
  ~Watchdog();

  /// Reports progress. It costs a clock read and may be called from any thread.
  void progress() { last_.store(Clock::now(), std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  void watch();

  const Clock::duration patience_;
  const std::function<void()> on_silence_;
  std::atomic<Clock::time_point> last_{Clock::now()};
  Mutex mutex_;
  std::condition_variable ended_signal_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last, because the thread uses the other members
};

}  // namespace assay
