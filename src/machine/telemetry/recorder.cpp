#include "machine/telemetry/recorder.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "core/text.h"

namespace assay {
namespace {

constexpr std::uint64_t slow_every = 10;   // ticks between two readings of the slow channels
constexpr std::size_t most_rows = 36'000;  // an hour at 10 Hz; older rows are dropped
// A driver that hangs must not make the measurement hang.
constexpr std::chrono::seconds patience{2};

double thread_cpu_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

Result<double> parse_tick_rate(std::string_view text) {
  // A tick takes about a millisecond on a GPU.
  constexpr double most = 1000, least = 1e-4;
  if (text == "off") return 0.0;
  const std::optional<double> rate = parse_number(text);
  if (rate && *rate >= least && *rate <= most) return 1 / *rate;
  return Error{ErrorKind::usage, fmt::format("\"{}\" is not allowed; allowed: off, or ticks per "
                                             "second from {} to {}",
                                             text, least, most)};
}

struct TelemetryRecorder::State {
  struct Row {
    Clock::time_point time;
    bool all = false;  ///< whether it includes the slow channels
    std::vector<double> values;
  };

  State(TelemetrySources opened, double seconds)
      : sources(std::move(opened)), channels(channels_of(sources)), interval(seconds) {}

  void run();
  Row read_row(bool all) const;
  void keep(Row row, double read_seconds, double cpu_seconds) REQUIRES(mutex);

  const TelemetrySources sources;
  const std::vector<Channel> channels;
  const std::chrono::duration<double> interval;
  Mutex mutex;  // never held while a source is read
  std::condition_variable wake, done;
  bool stop GUARDED_BY(mutex) = false;
  bool ended GUARDED_BY(mutex) = false;
  std::uint64_t wanted GUARDED_BY(mutex) = 0;  // ticks requested by slice()
  std::uint64_t served GUARDED_BY(mutex) = 0;
  std::deque<Row> rows GUARDED_BY(mutex);
  RecorderCost cost GUARDED_BY(mutex);
};

TelemetryRecorder::TelemetryRecorder(TelemetrySources sources, double interval)
    : state_(std::make_shared<State>(std::move(sources), interval)) {
  thread_ = std::thread([state = state_] { state->run(); });
}

TelemetryRecorder::~TelemetryRecorder() {
  bool ended = false;
  {
    MutexLock lock(state_->mutex);
    state_->stop = true;
    state_->wake.notify_one();
    ended = state_->done.wait_for(lock.native(), patience,
                                  [&]() REQUIRES(state_->mutex) { return state_->ended; });
  }
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void TelemetryRecorder::State::run() {
  pthread_setname_np(pthread_self(), "assay-telemetry");
  // If CPUs are scarce, the measurement takes precedence, because a late tick does no harm.
  constexpr int yielding = 5;
  setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), yielding);
  const auto step = std::chrono::duration_cast<Clock::duration>(interval);
  MutexLock lock(mutex);
  Clock::time_point next = Clock::now();
  for (std::uint64_t scheduled = 0; !stop;) {
    const bool asked = wake.wait_until(
        lock.native(), next, [this]() REQUIRES(mutex) { return stop || wanted > served; });
    if (stop) break;
    const std::uint64_t asked_for = wanted;
    lock.unlock();
    const Clock::time_point began = Clock::now();
    Row row = read_row(asked || scheduled % slow_every == 0);
    const std::chrono::duration<double> reading = Clock::now() - began;
    const double cpu_seconds = thread_cpu_seconds();
    lock.lock();
    keep(std::move(row), reading.count(), cpu_seconds);
    served = asked_for;
    done.notify_all();
    if (asked) continue;
    ++scheduled;
    next += step;
    const Clock::time_point now = Clock::now();
    if (next < now) {  // absolute schedule: missed ticks are skipped
      const auto skipped = (now - next) / step + 1;
      cost.missed += static_cast<std::uint64_t>(skipped);
      next += skipped * step;
    }
  }
  ended = true;
  done.notify_all();
}

TelemetryRecorder::State::Row TelemetryRecorder::State::read_row(bool all) const {
  Row row;
  row.all = all;
  const Clock::time_point begin = Clock::now();
  row.values = read_sources(sources, all);
  row.time = begin + (Clock::now() - begin) / 2;
  return row;
}

void TelemetryRecorder::State::keep(Row row, double read_seconds, double cpu_seconds) {
  ++cost.ticks;
  cost.cpu_seconds = cpu_seconds;
  cost.longest_read_seconds = std::max(cost.longest_read_seconds, read_seconds);
  rows.push_back(std::move(row));
  if (rows.size() > most_rows) rows.pop_front();
}

TelemetryTrace TelemetryRecorder::slice(Clock::time_point begin, Clock::time_point end) {
  State& state = *state_;
  MutexLock lock(state.mutex);
  const std::uint64_t mine = ++state.wanted;
  state.wake.notify_one();
  state.done.wait_for(lock.native(), patience,
                      [&]() REQUIRES(state.mutex) { return state.served >= mine; });

  const auto before =
      std::find_if(state.rows.rbegin(), state.rows.rend(),
                   [&](const State::Row& row) { return row.all && row.time <= begin; });
  const auto first = before == state.rows.rend() ? state.rows.begin() : std::prev(before.base());
  const auto after = std::find_if(
      first, state.rows.end(), [&](const State::Row& row) { return row.all && row.time >= end; });
  const auto last = after == state.rows.end() ? after : std::next(after);

  TelemetryTrace trace;
  trace.interval = state.interval.count();
  trace.window = std::chrono::duration<double>(end - begin).count();
  trace.channels = state.channels;
  trace.values.resize(state.channels.size());
  trace.cost = state.cost;
  for (auto row = first; row != last; ++row) {
    trace.seconds.push_back(std::chrono::duration<double>(row->time - begin).count());
    for (std::size_t i = 0; i < state.channels.size(); ++i)
      trace.values[i].push_back(row->values[i]);
  }
  return trace;
}

}  // namespace assay
