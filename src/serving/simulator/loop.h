// One thread's loop: sockets, and thousands of things that are due at their times. They wait in one
// queue behind one timer, because a timer of the system for each costs more than what is due.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "serving/simulator/asio.h"

namespace assay::simulator {

class Due {
 public:
  virtual ~Due() = default;
  /// Never before `due`, by the loop's clock.
  virtual void on_due(double due) = 0;
};

class Loop {
 public:
  Loop();

  asio::io_context& context() { return context_; }
  /// For whoever reads a socket, until it returns to the loop.
  std::vector<char>& scratch() { return scratch_; }
  /// Seconds since the loop was made.
  double now() const;
  /// Calls `what` once at `due`; things due at the same time in the order they were given.
  void at(double due, std::shared_ptr<Due> what);
  /// Until stop() is true, which is asked ten times a second.
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

  asio::io_context context_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};  // no locks: one thread uses it
  asio::steady_timer timer_{context_}, stop_timer_{context_};
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<char> scratch_ = std::vector<char>(256 << 10);
  std::vector<Entry> queue_;  // a heap; the earliest in front
  std::uint64_t order_ = 0;
  double armed_ = -1;   // for when work() is to come; negative: it is not
  bool awake_ = false;  // it comes without a timer
};

}  // namespace assay::simulator
