#include "measure/benchmarks/peer/core_pair_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "core/thread_pool.h"
#include "measure/benchmarks/copy/copy_pattern.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t few_cores = 16;
constexpr int round_trips = 1000;  // round trips of the cache line per sample

/// Waits until `value` is `wanted`. Yields now and then, in case the other thread needs this core.
void spin_until(const std::atomic<unsigned>& value, unsigned wanted) {
  constexpr int patience = 10000;
  for (int spins = 0; value.load(std::memory_order_acquire) != wanted; ++spins) {
    if (spins % patience == patience - 1) std::this_thread::yield();
  }
}

/// Two threads, one per core; the first is the calling thread.
class CorePairCase : public Case {
 public:
  CorePairCase(const Cell& cell, const std::vector<int>& cpus)
      : cpus_{cpus[cell.integer("from")], cpus[cell.integer("to")]},
        threads_({cpus_[0], cpus_[1]}) {}

  Limit limit() const override { return Limit::none; }
  TimeSource time_source() const override { return TimeSource::host_clock; }
  bool fits_behind_gate() const override { return false; }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"cpus", fmt::format("{} {}", cpus_[0], cpus_[1])}};
  }
  Status enqueue(Stream& stream) override {
    return stream.call([this] {
      threads_.pin_caller();  // the stream restores its own pinning afterwards
      run();
    });
  }
  Result<std::optional<double>> own_seconds() override { return std::optional(seconds_); }

 protected:
  /// Does the timed work. It is called on the thread of the first core.
  virtual void run() = 0;

  std::array<int, 2> cpus_;
  ThreadPool threads_;
  double seconds_ = 0;  // duration of the last run()
};

/// One core copies what the other one wrote, or both do so at once.
class CoreCopyCase final : public CorePairCase {
 public:
  CoreCopyCase(const Cell& cell, PrepareContext context, const std::vector<int>& cpus)
      : CorePairCase(cell, cpus),
        bytes_(cell.integer("size")),
        by_source_(cell.text("by") == "source"),
        lanes_(cell.text("pattern") == "both" ? 2 : 1) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].seed = context.seed + i;
  }

  Status prepare(PrepareContext context) {
    for (Lane& lane : lanes_) {
      lane.source = TRY(context.device.allocate(bytes_, MemoryKind::pageable));
      lane.destination = TRY(context.device.allocate(bytes_, MemoryKind::pageable));
    }
    return clear(context.stream);
  }

  Work work() const override { return {.bytes = static_cast<double>(bytes_ * lanes_.size())}; }
  Quantity quantity() const override { return Quantity::bandwidth; }

  Result<Verification> verify(Stream& stream) override {
    TRY(clear(stream));
    TRY(enqueue(stream));
    TRY(stream.synchronize());
    std::uint64_t wrong = 0;
    for (const Lane& lane : lanes_) {
      wrong += count_wrong(lane.destination.as<const std::uint64_t>(), words(), lane.seed);
    }
    Verification verification{wrong == 0, "every 8-byte word against the pattern, exact",
                              static_cast<double>(wrong), 0, ""};
    if (wrong > 0) {
      verification.detail =
          fmt::format("{} of {} words did not arrive", wrong, words() * lanes_.size());
    }
    return verification;
  }

 private:
  /// The copy from core `i` to the other one, where `i` is the index of the lane.
  struct Lane {
    Buffer source, destination;
    std::uint64_t seed = 0;
    Clock::time_point begin, end;  // times of the last copy
  };

  std::uint64_t words() const { return bytes_ / sizeof(std::uint64_t); }

  /// Each core zeros its destination buffer; the first time, this places the pages on its NUMA
  /// node.
  Status clear(Stream& stream) {
    TRY(stream.call([this] {
      threads_.pin_caller();
      threads_.run([this](std::size_t core) { clear_received(core); });
    }));
    return stream.synchronize();
  }

  void clear_received(std::size_t core) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (i != core) std::memset(lanes_[i].destination.data(), 0, bytes_);
    }
  }

  void run() override {
    // Untimed: the source's core writes the data, so that they are in its caches or on its node. If
    // the source does the copy, the other core first zeros the destination, which would otherwise
    // stay in the source's caches.
    threads_.run([this](std::size_t core) {
      if (by_source_) clear_received(core);
      if (core < lanes_.size()) {
        fill_pattern(lanes_[core].source.as<std::uint64_t>(), words(), lanes_[core].seed);
      }
    });
    std::atomic<unsigned> ready{0};
    threads_.run([this, &ready](std::size_t core) {
      ++ready;
      spin_until(ready, 2);  // both threads run now, so no copy waits for a thread to start
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        if ((core == i) == by_source_) copy(lanes_[i]);
      }
    });
    Clock::time_point begin = lanes_[0].begin, end = lanes_[0].end;
    for (const Lane& lane : lanes_) {
      begin = std::min(begin, lane.begin);
      end = std::max(end, lane.end);
    }
    // If a small copy takes less than a clock tick, its rate must not become infinite.
    seconds_ = std::max(1e-9, std::chrono::duration<double>(end - begin).count());
  }

  void copy(Lane& lane) const {
    lane.begin = Clock::now();
    std::memcpy(lane.destination.data(), lane.source.data(), bytes_);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // wait until all stores are visible
    lane.end = Clock::now();
  }

  std::uint64_t bytes_;
  bool by_source_;
  std::vector<Lane> lanes_;
};

/// A cache line that two cores write alternately.
class CacheLineCase final : public CorePairCase {
 public:
  using CorePairCase::CorePairCase;

  Work work() const override { return {.repetitions = 2.0 * round_trips}; }
  Quantity quantity() const override { return Quantity::latency; }

  Result<Verification> verify(Stream& stream) override {
    TRY(enqueue(stream));
    TRY(stream.synchronize());
    const unsigned turns = turn_.load();
    Verification verification{turns == 2 * round_trips, "turns taken, counted in the line itself",
                              static_cast<double>(turns) - 2.0 * round_trips, 0, ""};
    if (!verification.passed) {
      verification.detail = fmt::format("{} turns were taken, not {}", turns, 2 * round_trips);
    }
    return verification;
  }

 private:
  void run() override {
    turn_ = 0;
    std::atomic<unsigned> ready{0};
    threads_.run([this, &ready](std::size_t core) {
      ++ready;
      spin_until(ready, 2);
      const auto begin = Clock::now();
      for (unsigned round = 0; round < round_trips; ++round) {
        spin_until(turn_, 2 * round + static_cast<unsigned>(core));
        turn_.store(2 * round + static_cast<unsigned>(core) + 1, std::memory_order_release);
      }
      if (core == 1) seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
    });
  }

  // Aligned so that it is alone on its cache line and on adjacent lines that are prefetched with
  // it.
  alignas(256) std::atomic<unsigned> turn_{0};
};

}  // namespace

std::vector<int> representative_cores(const Machine& machine, const std::vector<int>& cpus) {
  std::vector<int> cores;
  std::set<std::string> domains;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}", cpus[i]);
    std::vector<std::string> of_cpu = {machine.read(folder + "/cache/index3/shared_cpu_list").text};
    for (const std::string& name : machine.list(folder)) {
      if (name.rfind("node", 0) == 0) of_cpu.push_back(name);
    }
    bool is_first = false;
    for (const std::string& domain : of_cpu) is_first |= domains.insert(domain).second;
    if (cpus.size() <= few_cores || is_first || i == 1) cores.push_back(static_cast<int>(i));
  }
  return cores;
}

Result<std::unique_ptr<Case>> prepare_core_pair(const Cell& cell, PrepareContext context,
                                                const std::vector<int>& cpus) {
  if (cell.text("engine") == "cacheline") {
    return std::unique_ptr<Case>(std::make_unique<CacheLineCase>(cell, cpus));
  }
  auto made = std::make_unique<CoreCopyCase>(cell, context, cpus);
  TRY(made->prepare(context));
  return std::unique_ptr<Case>(std::move(made));
}

}  // namespace assay
