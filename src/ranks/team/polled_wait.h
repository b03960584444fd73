// How long a rank has been waiting, told by its polls.
#pragma once

#include <chrono>

namespace assay {

/// Polls that follow each other closely belong to one wait. A poll after a pause begins a new one:
/// in between, the rank did work of its own.
class PolledWait {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds window{2};

  /// A poll; returns the seconds since the wait began that it belongs to.
  double poll() {
    const auto now = Clock::now();
    if (now - polled_ > window) began_ = now;
    polled_ = now;
    return std::chrono::duration<double>(now - began_).count();
  }
  /// Whether the rank polled recently.
  bool waiting() const { return Clock::now() - polled_ < window; }
  /// The wait is over: the next poll begins another one.
  void end() { polled_ = {}; }

 private:
  Clock::time_point polled_, began_;
};

}  // namespace assay
