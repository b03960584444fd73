// Runs the event loop of one thread, with sockets and thousands of callbacks due at given times.
// They share one queue and one timer, because a system timer for each would cost more than the
// callback itself.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "serving/server/asio.h"
#include "serving/server/connection_table.h"

namespace assay::server {

/// A callback of a loop, on the loop's thread.
class Due {
 public:
  virtual ~Due() = default;
  /// Called at or after `due` on the loop's clock.
  virtual void on_due(double due) = 0;
};

class Loop {
 public:
  Loop();

  asio::io_context& context() { return context_; }
  ConnectionTable& connections() { return connections_; }
  /// A read buffer, valid until the caller returns to the loop.
  std::vector<char>& scratch() { return scratch_; }
  /// Seconds since the loop was made.
  double now() const { return at(std::chrono::steady_clock::now()); }
  /// Seconds from when the loop was made to `time`.
  double at(std::chrono::steady_clock::time_point time) const {
    return std::chrono::duration<double>(time - begin_).count();
  }
  /// Calls `what` once at `due`; callbacks due at the same time run in the order they were added.
  void at(double due, std::shared_ptr<Due> what);
  /// Runs until stop() returns true; stop() is called ten times a second.
  void run(const std::function<bool()>& stop);

 private:
  struct Entry {
    double due;
    std::uint64_t order;
    std::shared_ptr<Due> what;
  };
  static bool later(const Entry& a, const Entry& b);

  void arm();
  void work();
  void watch(const std::function<bool()>& stop);

  ConnectionTable connections_;                                   // outlives all connections
  asio::io_context context_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};  // no locks: one thread uses it
  asio::steady_timer timer_{context_}, stop_timer_{context_};
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<char> scratch_ = std::vector<char>(256 << 10);
  std::vector<Entry> queue_;  // a heap; the earliest is in front
  std::uint64_t order_ = 0;
  double armed_ = -1;   // time for which work() is scheduled; negative: not scheduled
  bool awake_ = false;  // work() is posted without a timer
};

}  // namespace assay::server
