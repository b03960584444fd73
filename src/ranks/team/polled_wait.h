// Tells how long a rank has been waiting, from the times of its polls.
#pragma once

#include <chrono>

namespace assay {

/// Polls that follow each other closely belong to one wait. A poll after a pause begins a new one,
/// because in between the rank did other work.
class PolledWait {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds window{2};

  /// Records a poll; returns the seconds since the beginning of the wait that it belongs to.
  double poll() {
    const auto now = Clock::now();
    if (now - polled_ > window) began_ = now;
    polled_ = now;
    return std::chrono::duration<double>(now - began_).count();
  }
  /// Returns whether the rank polled recently.
  bool waiting() const { return Clock::now() - polled_ < window; }
  /// Ends the wait: the next poll begins another one.
  void end() { polled_ = {}; }

 private:
  Clock::time_point polled_, began_;
};

}  // namespace assay
