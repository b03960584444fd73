#include "compute/backends/cpu/cpu_stream.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "core/mutex.h"

namespace assay::cpu {
namespace {

/// The share of `total` items that worker `index` of `count` gets, in whole multiples of `unit`.
std::pair<std::size_t, std::size_t> share_of(std::size_t total, std::size_t unit, std::size_t index,
                                             std::size_t count) {
  const std::size_t units = (total + unit - 1) / unit;
  return {std::min(total, units * index / count * unit),
          std::min(total, units * (index + 1) / count * unit)};
}

// Copies and fills are split at page boundaries, so that workers do not share pages.
constexpr std::size_t page = 4096;

/// All streams of this process: memory may outlive the device that it came from, and is freed as
/// late as by what is static, so that this list is never destroyed.
struct LiveStreams {
  Mutex mutex;
  std::vector<CpuStream*> all GUARDED_BY(mutex);
};
LiveStreams& live_streams() {
  static LiveStreams& streams = *new LiveStreams;
  return streams;
}

}  // namespace

void execute(ThreadPool& pool, const KernelEntry& kernel, const LaunchShape& shape,
             void* const* arguments) {
  const Dim3& grid = shape.grid;
  const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
  const auto run_share = [&](std::size_t worker) {
    const auto [begin, end] = share_of(blocks, 1, worker, pool.size());
    thread_local std::vector<std::max_align_t> shared;  // kept, so that a launch does not allocate
    shared.resize(std::max(shared.size(), value_slots(shape.dynamic_shared_bytes)));
    for (std::size_t block = begin; block < end; ++block) {
      current_block = {static_cast<unsigned>(block % grid.x),
                       static_cast<unsigned>(block / grid.x % grid.y),
                       static_cast<unsigned>(block / grid.x / grid.y),
                       grid.x,
                       grid.y,
                       grid.z,
                       shared.data()};
      kernel.invoke(arguments);
    }
  };
  if (blocks == 1) {
    run_share(pool.size() - 1);  // the last worker's share is the one that holds block 0
  } else {
    pool.run(run_share);
  }
}

Operation& OperationQueue::push() {
  if (count_ == ring_.size()) {
    std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(first_), ring_.end());
    first_ = 0;
    ring_.resize(std::max<std::size_t>(2 * count_, 16));
  }
  return ring_[(first_ + count_++) % ring_.size()];
}

void OperationQueue::pop(Operation& into) {
  into = std::move(ring_[first_]);
  first_ = (first_ + 1) % ring_.size();
  --count_;
}

GraphUpdate CpuGraph::update(std::shared_ptr<const Capture> capture) {
  const auto same_kind = [](const Operation& a, const Operation& b) {
    return a.index() == b.index();
  };
  const bool same = std::ranges::equal(capture_->operations, capture->operations, same_kind);
  capture_ = std::move(capture);
  return same ? GraphUpdate::in_place : GraphUpdate::rebuilt;
}

CpuStream::CpuStream(ThreadPool& pool) : pool_(pool), thread_([this] { work(); }) {
  LiveStreams& streams = live_streams();
  const MutexLock lock(streams.mutex);
  streams.all.push_back(this);
}

CpuStream::~CpuStream() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  LiveStreams& streams = live_streams();
  const MutexLock lock(streams.mutex);
  std::erase(streams.all, this);
}

void CpuStream::keep(std::shared_ptr<const void> memory) {
  {
    const MutexLock lock(mutex_);
    if (queue_.empty() && !busy_) return;
    queue_.push() = [memory = std::move(memory)] {};
  }
  changed_.notify_all();
}

void unmap_after_queued_work(void* address, std::size_t bytes) {
  const std::shared_ptr<const void> memory(address,
                                           [address, bytes](auto*) { munmap(address, bytes); });
  LiveStreams& streams = live_streams();
  const MutexLock lock(streams.mutex);
  for (CpuStream* stream : streams.all) stream->keep(memory);
}

void CpuStream::work() {
  pool_.pin_caller();
  Operation operation;
  MutexLock lock(mutex_);
  for (;;) {
    changed_.wait(lock.native(),
                  [this]() REQUIRES(mutex_) { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;  // stopping, and everything queued has run
    busy_ = true;
    while (!queue_.empty()) {
      queue_.pop(operation);
      lock.unlock();
      perform(operation);
      // Release what a function holds before the stream counts as idle.
      if (auto* function = std::get_if<std::function<void()>>(&operation)) *function = nullptr;
      lock.lock();
    }
    busy_ = false;
    changed_.notify_all();
  }
}

void CpuStream::enqueue(Operation operation) {
  if (capture_) {
    capture_->operations.push_back(std::move(operation));
    return;
  }
  {
    const MutexLock lock(mutex_);
    queue_.push() = std::move(operation);
  }
  changed_.notify_all();
}

void CpuStream::perform(const Operation& operation) {
  if (const auto* function = std::get_if<std::function<void()>>(&operation)) {
    (*function)();
    return;
  }
  const auto& launch = std::get<KernelLaunch>(operation);
  std::array<void*, std::tuple_size_v<decltype(launch.values)>> pointers;
  std::size_t slot = 0;
  for (unsigned i = 0; i < launch.kernel->arguments; ++i) {
    // Kernels take their parameters by value, so they only read here.
    pointers[i] = const_cast<std::max_align_t*>(&launch.values[slot]);
    slot += value_slots(launch.kernel->argument_bytes[i]);
  }
  execute(pool_, *launch.kernel, launch.shape, pointers.data());
}

Status CpuStream::launch(const Kernel& kernel, const LaunchShape& shape,
                         std::span<void* const> arguments) {
  const KernelEntry& entry = static_cast<const CpuKernel&>(kernel).entry();
  if (arguments.size() != entry.arguments) {
    return Error{ErrorKind::failed, std::string("kernel ") + entry.name + ": " +
                                        std::to_string(arguments.size()) + " arguments given, " +
                                        std::to_string(entry.arguments) + " expected"};
  }
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) {
    return Error{ErrorKind::failed, std::string("kernel ") + entry.name + ": empty grid"};
  }
  // Copy the values now, as a GPU driver does: the caller's variables may be gone when the kernel
  // runs.
  KernelLaunch launch;
  launch.kernel = &entry;
  launch.shape = shape;
  std::size_t slot = 0;
  for (unsigned i = 0; i < entry.arguments; ++i) {
    std::memcpy(&launch.values[slot], arguments[i], entry.argument_bytes[i]);
    slot += value_slots(entry.argument_bytes[i]);
  }
  enqueue(launch);
  return {};
}

Status CpuStream::launch(Graph& graph) {
  const std::shared_ptr<const Capture> capture = static_cast<CpuGraph&>(graph).capture();
  // Each replay records its events anew, as launching the graph on a GPU does.
  std::vector<std::shared_ptr<Occurrence>> records;
  for (CpuEvent* event : capture->events) {
    records.push_back(event->occurrence = std::make_shared<Occurrence>());
  }
  enqueue([this, capture, records = std::move(records)] {
    for (const Operation& operation : capture->operations) {
      if (const auto* record = std::get_if<ReplayedRecord>(&operation)) {
        records[record->event]->complete();
      } else {
        perform(operation);
      }
    }
  });
  return {};
}

Status CpuStream::copy(void* destination, const void* source, std::size_t bytes) {
  enqueue([this, destination, source, bytes] {
    pool_.run([&](std::size_t worker) {
      const auto [begin, end] = share_of(bytes, page, worker, pool_.size());
      if (begin == end) return;  // null is allowed for an empty share
      std::memcpy(static_cast<std::byte*>(destination) + begin,
                  static_cast<const std::byte*>(source) + begin, end - begin);
    });
  });
  return {};
}

Status CpuStream::copy_from_peer(void* destination, int, const void* source, std::size_t bytes) {
  return copy(destination, source, bytes);
}

Status CpuStream::copy_to_peer(int, void* destination, const void* source, std::size_t bytes) {
  return copy(destination, source, bytes);
}

Status CpuStream::fill(void* destination, std::uint8_t value, std::size_t bytes) {
  enqueue([this, destination, value, bytes] {
    pool_.run([&](std::size_t worker) {
      const auto [begin, end] = share_of(bytes, page, worker, pool_.size());
      if (begin == end) return;
      std::memset(static_cast<std::byte*>(destination) + begin, value, end - begin);
    });
  });
  return {};
}

Status CpuStream::record(Event& event) {
  auto& slot = static_cast<CpuEvent&>(event).occurrence;
  slot = std::make_shared<Occurrence>();
  slot->capture = capture_;
  enqueue([occurrence = slot] { occurrence->complete(); });
  return {};
}

Status CpuStream::wait(const Event& event) {
  const auto occurrence = static_cast<const CpuEvent&>(event).occurrence;
  if (!occurrence) return {};  // never recorded: nothing to wait for, as in CUDA
  const std::shared_ptr<Capture> theirs = occurrence->capture.lock();
  if (theirs && !theirs->streams.empty() && !capture_) {  // without streams, that capture has ended
    capture_ = theirs;
    capture_->streams.push_back(this);
  }
  if (capture_) return {};  // captured work is replayed in call order, after what the event marks
  enqueue([occurrence] { occurrence->done.wait(false, std::memory_order_acquire); });
  return {};
}

Status CpuStream::synchronize() {
  if (capture_) return Error{ErrorKind::failed, "cpu stream: synchronize() while capturing"};
  MutexLock lock(mutex_);
  changed_.wait(lock.native(), [this]() REQUIRES(mutex_) { return queue_.empty() && !busy_; });
  return {};
}

Status CpuStream::call(std::function<void()> function) {
  // Threads started by `function` would inherit this thread's affinity, so lift it meanwhile.
  enqueue([this, function = std::move(function)] {
    pool_.unpin_caller();
    function();
    pool_.pin_caller();
  });
  return {};
}

Status CpuStream::begin_capture() {
  if (capture_) return Error{ErrorKind::failed, "cpu stream: begin_capture() while capturing"};
  capture_ = std::make_shared<Capture>();
  capture_->streams.push_back(this);
  return {};
}

Result<std::shared_ptr<const Capture>> CpuStream::take_capture() {
  if (!capture_)
    return Error{ErrorKind::failed, "cpu stream: end_capture() without begin_capture()"};
  const std::shared_ptr<Capture> capture = capture_;
  for (CpuStream* stream : capture->streams) stream->capture_.reset();
  capture->streams.clear();
  return std::shared_ptr<const Capture>(capture);
}

Result<std::unique_ptr<Graph>> CpuStream::end_capture() {
  return std::unique_ptr<Graph>(std::make_unique<CpuGraph>(TRY(take_capture())));
}

Result<GraphUpdate> CpuStream::end_capture_into(Graph& graph) {
  return static_cast<CpuGraph&>(graph).update(TRY(take_capture()));
}

Status CpuStream::record_each_replay(Event& event) {
  if (!capture_) {
    return Error{ErrorKind::failed, "cpu stream: record_each_replay() without begin_capture()"};
  }
  enqueue(ReplayedRecord{capture_->events.size()});
  capture_->events.push_back(&static_cast<CpuEvent&>(event));
  return {};
}

}  // namespace assay::cpu
