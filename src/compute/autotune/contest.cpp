#include "compute/autotune/contest.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "statistics/summary.h"

namespace assay {
namespace {

constexpr int most_pieces = 5;  // of a final measurement, on a CPU
// Until then the system may have left the threads that a library has just started on one core:
// single convolutions took 15 times as long.
constexpr double cpu_settles_seconds = 0.1;

struct Trial {
  std::size_t index = 0;
  std::vector<double> seconds;

  double best() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

class Contest {
 public:
  Contest(Stream& stream, const std::vector<Contender>& contenders,
          const std::function<bool()>& stop_requested, std::unique_ptr<Event> start,
          std::unique_ptr<Event> stop)
      : stream_(stream),
        contenders_(contenders),
        stop_requested_(stop_requested),
        start_(std::move(start)),
        stop_(std::move(stop)) {}

  /// Keeps the contenders that run. Error: the last one's if none does.
  Result<std::vector<Trial>> warm_up() {
    std::vector<Trial> trials;
    std::optional<Error> last;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      TRY(go_on());
      Status ran = contenders_[i](stream_);
      if (ran.ok()) ran = stream_.synchronize();
      if (ran.ok()) {
        trials.push_back({i, {}});
      } else {
        last = ran.error();
      }
    }
    if (trials.empty()) return last.value_or(Error{ErrorKind::failed, "nothing to choose from"});
    return trials;
  }

  /// Seconds of one run, `repetitions` of them queued together behind `settling` untimed ones.
  Result<double> time(std::size_t contender, int repetitions, int settling) {
    for (int i = 0; i < settling; ++i) TRY(contenders_[contender](stream_));
    TRY(stream_.record(*start_));
    for (int i = 0; i < repetitions; ++i) TRY(contenders_[contender](stream_));
    TRY(stream_.record(*stop_));
    TRY(stream_.synchronize());
    return TRY(stop_->seconds_since(*start_)) / repetitions;
  }

  Status run_round(std::vector<Trial>& trials, int round, int repetitions, int settling) {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      TRY(go_on());
      Trial& trial = trials[round % 2 == 0 ? i : trials.size() - 1 - i];
      trial.seconds.push_back(TRY(time(trial.index, repetitions, settling)));
    }
    return {};
  }

 private:
  Status go_on() const {
    if (!stop_requested_ || !stop_requested_()) return {};
    return Error{ErrorKind::interrupted, "stopped while ways to compute were compared"};
  }

  Stream& stream_;
  const std::vector<Contender>& contenders_;
  const std::function<bool()>& stop_requested_;
  std::unique_ptr<Event> start_, stop_;
};

}  // namespace

Result<ContestResult> find_fastest(Device& device, Stream& stream,
                                   const std::vector<Contender>& contenders,
                                   const ContestLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  Contest contest(stream, contenders, limits.stop_requested, TRY(device.create_event()),
                  TRY(device.create_event()));
  std::vector<Trial> trials = TRY(contest.warm_up());
  // What other programs take from a CPU comes and goes, and only adds to a time; short rounds fit
  // between. What its power limit takes from a GPU stays with it.
  const bool on_cpu = device.facts().is_host_cpu();
  ContestResult result;
  result.tried = trials.size();

  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  const auto out_of_time = [&] { return elapsed() > limits.time_box_seconds; };

  for (int round = 0; on_cpu && elapsed() < cpu_settles_seconds; ++round) {
    TRY(contest.run_round(trials, round, 1, 0));
  }
  for (Trial& trial : trials) trial.seconds.clear();  // of settling

  const double screening_began = elapsed();
  std::size_t screened = 0;
  for (int round = 0; round < limits.screening_rounds; ++round) {
    if (round > 0 && out_of_time()) break;
    TRY(contest.run_round(trials, round, 1, 0));
    screened += trials.size();
  }
  const double of_one_run = (elapsed() - screening_began) / static_cast<double>(screened);
  std::sort(trials.begin(), trials.end(),
            [](const Trial& a, const Trial& b) { return a.best() < b.best(); });
  const bool all_fit = trials.size() <= limits.most_finalists;
  const double acceptable =
      trials.front().best() *
      (all_fit ? std::max(limits.wide_margin, limits.screening_margin) : limits.screening_margin);
  std::size_t others = 0;
  std::erase_if(trials, [&](const Trial& trial) {
    if (limits.least_gain > 0 && trial.index == 0) return false;
    return trial.best() > acceptable || ++others > limits.most_finalists;
  });

  if (trials.size() > 1) {
    // By the median: on a machine that is busy otherwise, the best is much less than a run takes.
    const double usual = median(trials.front().seconds);
    // No more than the time box has room for: on an emulated device, runs take far longer than it
    // says.
    const double room = (limits.time_box_seconds - elapsed()) /
                        (2 * limits.final_rounds * static_cast<double>(trials.size()) * of_one_run);
    const int repetitions =
        usual > 0 ? static_cast<int>(std::clamp(
                        std::min(std::ceil(limits.final_seconds / usual), room), 1.0, 1000.0))
                  : 1;
    // The screening chose them: fresh numbers decide.
    for (Trial& trial : trials) trial.seconds.clear();
    const int pieces = on_cpu ? std::min(repetitions, most_pieces) : 1;
    for (int round = 0; round < limits.final_rounds * pieces; ++round) {
      if (round >= 3 && out_of_time()) break;
      TRY(contest.run_round(trials, round, repetitions / pieces, repetitions / pieces));
    }
  }
  const auto decisive = [&](const Trial& trial) {
    return on_cpu ? trial.best() : median(trial.seconds);
  };
  auto winner = std::min_element(trials.begin(), trials.end(), [&](const Trial& a, const Trial& b) {
    return decisive(a) < decisive(b);
  });
  const auto first = std::ranges::find(trials, std::size_t{0}, &Trial::index);
  if (limits.least_gain > 0 && first != trials.end() &&
      decisive(*winner) > decisive(*first) * (1 - limits.least_gain)) {
    winner = first;
  }
  result.fastest = winner->index;
  result.seconds = median(winner->seconds);
  return result;
}

}  // namespace assay
