// Work that would keep the event loop from its streams, on a thread beside it.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <condition_variable>
#include <functional>
#include <thread>
#include <vector>

#include "core/descriptor.h"
#include "core/mutex.h"
#include "serving/server/asio.h"

namespace assay::server {

/// Its functions are called on the loop's thread.
class Aside {
 public:
  explicit Aside(asio::io_context& context);
  /// Waits for the work that has begun; the rest is left.
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  /// Calls `work` on the other thread, one task after another, and then `done` in the loop, which
  /// is also destroyed there; `work` is destroyed before. Calls both at once, in the loop, if the
  /// process had no files left when this was made, or can have no other thread.
  void run(std::function<void()> work, std::function<void()> done);

 private:
  struct Task {
    std::function<void()> work, done;
  };
  /// Returns false if the process cannot have another thread.
  bool begin_thread();
  void work_off();
  void wait_for_done();
  void announce();

  Descriptor event_;
  boost::asio::posix::stream_descriptor done_there_;
  Mutex mutex_;
  std::condition_variable task_came_;
  std::vector<Task> tasks_ GUARDED_BY(mutex_);
  std::vector<std::function<void()>> done_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // runs from the first task on
};

}  // namespace assay::server
