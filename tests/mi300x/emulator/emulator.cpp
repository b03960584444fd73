#include "emulator/emulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "emulator/coverage.h"
#include "emulator/dispatch.h"
#include "emulator/workgroup.h"

namespace mi300x {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Instructions in a workgroup's turn: few enough that workgroups that wait for each other make
/// progress, and enough that switching costs nothing.
constexpr u64 turn = 16384;
constexpr auto poll_interval = milliseconds(1);  // of `cancelled`
constexpr auto nap = microseconds(50);           // when all workgroups sleep

/// Distributes a launch's workgroups to host threads: in order as the chip has room, and in turns,
/// so that workgroups that wait for another one, the host or another device do not block the rest.
class Scheduler {
 public:
  Scheduler(const Dispatch& dispatch, u64 most_instructions, const std::function<bool()>& cancelled)
      : dispatch_(dispatch),
        most_instructions_(most_instructions ? most_instructions : std::numeric_limits<u64>::max()),
        cancelled_(cancelled) {}

  /// Returns when every workgroup has ended, or rethrows the first fault.
  Tally run(unsigned threads) {
    std::vector<std::thread> others;
    const u64 useful = std::min<u64>(threads, dispatch_.groups());
    for (u64 i = 1; i < useful; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread& other : others) other.join();
    if (fault_) std::rethrow_exception(fault_);
    return std::move(total_);
  }

 private:
  using Group = std::unique_ptr<Workgroup>;

  void work() {
    Tally tally;
    tally.executions.resize(dispatch_.code().code.size());
    try {
      while (Group group = take()) {
        const u64 before = tally.instructions;
        const auto progress = group->run(next_turn(), tally);
        if (executed_ += tally.instructions - before; executed_ > most_instructions_) {
          group->fail(Fault(FaultKind::hang, fmt::format("more than the {} instructions that the "
                                                         "launch may take",
                                                         most_instructions_)));
        }
        poll(*group);
        give_back(std::move(group), progress);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
      changed_.notify_all();
    }
    add(tally);
  }

  u64 next_turn() const {
    const u64 so_far = executed_;
    return so_far >= most_instructions_ ? 1 : std::min(turn, most_instructions_ - so_far) + 1;
  }

  /// Returns the next workgroup to run: a new one as long as the chip has room, else the one that
  /// waited longest. Null if nothing is left to do.
  Group take() {
    std::unique_lock lock(mutex_);
    while (!fault_) {
      if (next_ < dispatch_.groups() && resident_ < dispatch_.resident_groups()) {
        const u64 number = next_++;
        ++resident_;
        Group group;
        if (!spare_.empty()) {
          group = std::move(spare_.back());
          spare_.pop_back();
        }
        lock.unlock();
        if (!group) group = std::make_unique<Workgroup>(dispatch_);
        group->begin(number);
        return group;
      }
      if (!waiting_.empty()) {
        Group group = std::move(waiting_.front());
        waiting_.pop_front();
        return group;
      }
      if (resident_ == 0) return nullptr;
      changed_.wait(lock);  // until another thread returns a workgroup
    }
    return nullptr;
  }

  void give_back(Group group, Workgroup::Progress progress) {
    bool all_sleep = false;
    {
      const std::lock_guard lock(mutex_);
      if (progress == Workgroup::Progress::ended) {
        --resident_;
        spare_.push_back(std::move(group));
        if (resident_ == 0 && next_ == dispatch_.groups()) changed_.notify_all();
      } else {
        waiting_.push_back(std::move(group));
        changed_.notify_one();
      }
      slept_in_row_ = progress == Workgroup::Progress::slept ? slept_in_row_ + 1 : 0;
      all_sleep = slept_in_row_ >= resident_ && resident_ > 0;
    }
    if (all_sleep) {
      std::this_thread::sleep_for(nap);
    } else if (progress != Workgroup::Progress::ended) {
      std::this_thread::yield();
    }
  }

  void poll(const Workgroup& group) {
    if (!cancelled_) return;
    const std::unique_lock lock(poll_mutex_, std::try_to_lock);
    if (!lock || steady_clock::now() < next_poll_) return;
    next_poll_ = steady_clock::now() + poll_interval;
    if (cancelled_()) group.fail(Fault(FaultKind::hang, "the launch was cancelled"));
  }

  void add(const Tally& tally) {
    const std::lock_guard lock(mutex_);
    total_.executions.resize(tally.executions.size());
    for (std::size_t i = 0; i < tally.executions.size(); ++i)
      total_.executions[i] += tally.executions[i];
    total_.global_bytes += tally.global_bytes;
    total_.instructions += tally.instructions;
    total_.longest_wave = std::max(total_.longest_wave, tally.longest_wave);
  }

  const Dispatch& dispatch_;
  const u64 most_instructions_;
  const std::function<bool()>& cancelled_;
  std::atomic<u64> executed_ = 0;

  std::mutex poll_mutex_;
  steady_clock::time_point next_poll_ = steady_clock::now();

  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  u64 next_ = 0, resident_ = 0, slept_in_row_ = 0;
  std::deque<Group> waiting_;
  std::vector<Group> spare_;
  std::exception_ptr fault_;
  Tally total_;
};

u64 number_from(const char* variable, u64 otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

}  // namespace

const Settings& default_settings() {
  static const Settings settings = [] {
    Settings from;
    from.seed = number_from("MI300X_SEED", from.seed);
    from.most_instructions = number_from("MI300X_LIMIT", from.most_instructions);
    from.threads = static_cast<unsigned>(number_from("MI300X_THREADS", from.threads));
    from.hazards = number_from("MI300X_HAZARDS", from.hazards) != 0;
    return from;
  }();
  return settings;
}

LaunchReport run(const Launch& launch, const Chip& chip, const Settings& settings,
                 const std::function<bool()>& cancelled) {
  const Dispatch dispatch(launch, chip, settings);
  const unsigned threads =
      settings.threads ? settings.threads : std::max(1u, std::thread::hardware_concurrency());
  const Tally total = Scheduler(dispatch, settings.most_instructions, cancelled).run(threads);

  add_to_coverage(dispatch.kernel(), dispatch.code(), total.executions);
  Work work;
  work.groups = dispatch.groups();
  work.global_bytes = total.global_bytes;
  work.longest_wave = total.longest_wave;
  for (std::size_t i = 0; i < total.executions.size(); ++i)
    if (total.executions[i] > 0)
      work.add(dispatch.code().code[i], dispatch.prices()[i], total.executions[i]);
  return {total.instructions, seconds(work, chip)};
}

}  // namespace mi300x
