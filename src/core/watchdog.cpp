#include "core/watchdog.h"

namespace assay {

Watchdog::Watchdog(double patience_seconds, std::function<void()> on_silence)
    : patience_(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(patience_seconds))),
      on_silence_(std::move(on_silence)),
      thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  ended_signal_.notify_all();
  thread_.join();
}

void Watchdog::watch() {
  MutexLock lock(mutex_);
  while (!ended_) {
    const auto due = last_.load(std::memory_order_relaxed) + patience_;
    if (ended_signal_.wait_until(lock.native(), due, [&]() REQUIRES(mutex_) { return ended_; }))
      return;
    if (last_.load(std::memory_order_relaxed) + patience_ <= Clock::now()) {
      lock.unlock();
      on_silence_();
      return;
    }
  }
}

}  // namespace assay
