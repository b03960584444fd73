// Events of the CPU backend. Each recording makes a new occurrence, so a wait that was queued
// earlier still waits for the occurrence it saw, as on a GPU.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>

#include "compute/device/device.h"

namespace assay::cpu {

class Capture;

/// One recording of an event.
struct Occurrence {
  std::atomic<bool> done{false};
  std::binary_semaphore finished{0};  ///< signals the same as `done`, for waits with a timeout
  std::chrono::steady_clock::time_point time;  ///< valid once done
  std::weak_ptr<Capture> capture;  ///< set if recorded during a capture, which then owns this

  void complete() {
    time = std::chrono::steady_clock::now();
    done.store(true, std::memory_order_release);
    done.notify_all();
    finished.release();
  }
};

class CpuEvent final : public Event {
 public:
  explicit CpuEvent(EventKind kind) : kind_(kind) {}

  Status synchronize() override {
    if (occurrence) occurrence->done.wait(false, std::memory_order_acquire);
    return {};
  }
  Result<bool> done() const override {
    return !occurrence || occurrence->done.load(std::memory_order_acquire);
  }
  Result<bool> done_within(std::chrono::milliseconds patience) const override {
    if (TRY(done())) return true;
    if (!occurrence->finished.try_acquire_for(patience)) return false;
    occurrence->finished.release();  // for other waiting threads
    return true;
  }
  Result<double> seconds_since(const Event& start) const override {
    const auto& begin = static_cast<const CpuEvent&>(start);
    if (kind_ == EventKind::untimed || begin.kind_ == EventKind::untimed) return no_event_time();
    const auto& from = begin.occurrence;
    if (!from || !occurrence || !from->done.load(std::memory_order_acquire) ||
        !occurrence->done.load(std::memory_order_acquire)) {
      return Error{ErrorKind::failed,
                   "cpu event: elapsed time requested before both events are done"};
    }
    return std::chrono::duration<double>(occurrence->time - from->time).count();
  }

  std::shared_ptr<Occurrence> occurrence;  ///< the latest recording; null: never recorded

 private:
  EventKind kind_;
};

}  // namespace assay::cpu
