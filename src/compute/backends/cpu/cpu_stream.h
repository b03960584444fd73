// Streams of the CPU backend: each has a thread that processes its queue in order and spreads each
// piece of work over the device's thread pool.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "compute/backends/cpu/cpu_event.h"
#include "compute/device/device.h"
#include "compute/device/kernel_registry.h"
#include "core/mutex.h"
#include "core/thread_pool.h"

namespace assay::cpu {

/// Everything that a launch needs, including the values of its arguments, so that queueing
/// allocates no heap memory.
struct KernelLaunch {
  const KernelEntry* kernel = nullptr;
  LaunchShape shape;
  std::array<std::max_align_t, 64> values;  ///< each argument begins in a new element
};
/// Returns how many elements of KernelLaunch::values an argument of `bytes` bytes occupies.
constexpr std::size_t value_slots(unsigned bytes) {
  return (bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
}
/// Records an event at every replay; occurs only in captures.
struct ReplayedRecord {
  std::size_t event;  ///< index into Capture::events
};
using Operation = std::variant<KernelLaunch, ReplayedRecord, std::function<void()>>;

/// A FIFO queue whose memory only grows.
class OperationQueue {
 public:
  bool empty() const { return count_ == 0; }
  /// Appends an operation for the caller to assign before the next call.
  Operation& push();
  /// Moves the oldest operation to `into`; the queue must not be empty.
  void pop(Operation& into);

 private:
  std::vector<Operation> ring_;
  std::size_t first_ = 0, count_ = 0;
};

/// Work recorded between begin_capture and end_capture. A stream that waits for an event recorded
/// during the capture joins it. A replay runs the work in the order of the calls, which satisfies
/// all dependencies.
class Capture {
 public:
  std::vector<Operation> operations;
  std::vector<CpuEvent*> events;          ///< recorded at every replay; must outlive the graph
  std::vector<class CpuStream*> streams;  ///< those that record into it; empty once it has ended
};

class CpuGraph final : public Graph {
 public:
  explicit CpuGraph(std::shared_ptr<const Capture> capture) : capture_(std::move(capture)) {}
  const std::shared_ptr<const Capture>& capture() const { return capture_; }
  /// Replaces the capture. Returns in_place if both have the same kinds of operations in order.
  GraphUpdate update(std::shared_ptr<const Capture> capture);

 private:
  std::shared_ptr<const Capture> capture_;
};

class CpuKernel final : public Kernel {
 public:
  explicit CpuKernel(const KernelEntry& entry)
      : Kernel(std::span(entry.argument_bytes, entry.arguments)), entry_(&entry) {}
  const KernelEntry& entry() const { return *entry_; }

  Result<KernelResources> resources() const override { return KernelResources{0, 0, 0, 1}; }
  Result<int> blocks_per_multiprocessor(int, unsigned) const override { return 1; }
  Status allow_dynamic_shared(unsigned) override { return {}; }

 private:
  const KernelEntry* entry_;
};

/// Runs all blocks of a launch on the pool; each worker gets a contiguous share of the grid. The
/// calling thread runs a grid of one block itself. `arguments` holds one pointer per parameter.
void execute(ThreadPool& pool, const KernelEntry& kernel, const LaunchShape& shape,
             void* const* arguments);

class CpuStream final : public Stream {
 public:
  explicit CpuStream(ThreadPool& pool);
  ~CpuStream() override;

  /// Keeps `memory` alive until all work queued so far has run.
  void keep(std::shared_ptr<const void> memory);

  using Stream::launch;
  Status launch(const Kernel& kernel, const LaunchShape& shape,
                std::span<void* const> arguments) override;
  Status launch(Graph& graph) override;
  Status copy(void* destination, const void* source, std::size_t bytes) override;
  Status copy_from_peer(void* destination, int source_ordinal, const void* source,
                        std::size_t bytes) override;
  Status copy_to_peer(int destination_ordinal, void* destination, const void* source,
                      std::size_t bytes) override;
  Status fill(void* destination, std::uint8_t value, std::size_t bytes) override;
  Status record(Event& event) override;
  Status wait(const Event& event) override;
  Status synchronize() override;
  Status call(std::function<void()> function) override;
  Status begin_capture() override;
  Result<std::unique_ptr<Graph>> end_capture() override;
  Result<GraphUpdate> end_capture_into(Graph& graph) override;
  Status record_each_replay(Event& event) override;
  Status upload(Graph&) override { return {}; }
  void* native_handle() override { return nullptr; }

 private:
  void enqueue(Operation operation);
  Result<std::shared_ptr<const Capture>> take_capture();
  void perform(const Operation& operation);
  void work();

  ThreadPool& pool_;
  std::shared_ptr<Capture> capture_;  // set while capturing
  Mutex mutex_;
  std::condition_variable changed_;
  OperationQueue queue_ GUARDED_BY(mutex_);
  bool busy_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last, because the thread uses all members above
};

/// Unmaps `bytes` bytes after all work queued so far on every CPU stream has run. Freeing memory on
/// a GPU waits likewise, and a caller that gives up half-way relies on it on every backend.
void unmap_after_queued_work(void* address, std::size_t bytes);

}  // namespace assay::cpu
