// A fork-join pool: one pinned thread per CPU, except for the first one, whose work the caller's
// thread does as worker 0. Idle threads poll for 20 to 150 us, in builds for tests shorter, then
// sleep.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "core/mutex.h"

namespace assay {

class ThreadPool {
 public:
  /// Makes one worker per entry of `cpus` (kernel CPU numbers), which must not be empty. Threads
  /// start on the first run(). A worker that cannot be pinned works unpinned.
  explicit ThreadPool(std::vector<int> cpus) : cpus_(std::move(cpus)) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t size() const { return cpus_.size(); }

  /// Calls body(worker) once for each worker, from 0, in parallel, and returns when all are done.
  /// Calls from several threads take turns; a body must not call run().
  template <typename Body>
  void run(const Body& body) {
    run_erased([](const void* context,
                  std::size_t worker) { (*static_cast<const Body*>(context))(worker); },
               &body);
  }

  /// Pins the calling thread to worker 0's CPU; for threads that will call run().
  void pin_caller() const;
  /// Lets the calling thread run on every CPU of the pool again.
  void unpin_caller() const;

 private:
  using Erased = void (*)(const void* context, std::size_t worker);

  void run_erased(Erased body, const void* context);
  void start();
  void work(std::size_t worker);

  std::vector<int> cpus_;
  std::vector<std::thread> threads_;
  Mutex turn_;
  Erased body_ = nullptr;
  const void* context_ = nullptr;
  std::atomic<unsigned> round_{0};  // a new value starts the workers
  std::atomic<unsigned> unfinished_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace assay
