#include "measure/benchmarks/train/exchange_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "compute/device/helpers.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/wire.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// The smaller of two values; a `known` of 0 means that there is none yet.
double least(double known, double one) {
  return known > 0 ? std::min(known, one) : one;
}

/// How many back-to-back runs last `seconds`, averaged over all ranks; `once` is the time of one
/// run on this rank.
Result<int> number_in_a_row(double seconds, double once, RankStopwatch& stopwatch, int ranks) {
  constexpr double fewest = 2, most = 256;
  const double here =
      seconds > 0 && once > 0 ? std::clamp(std::ceil(seconds / once), fewest, most) : 1;
  return static_cast<int>(TRY(stopwatch.sum(static_cast<float>(here)))) / ranks;
}

/// Mean seconds of one of `in_a_row` back-to-back runs. With `goes_on`, a quarter as many untimed
/// runs come first, for two reasons. Launching a graph of thousands of kernels takes the host tens
/// of milliseconds. At a power limit the first quarter of a second after other work takes up to 1%
/// more or less.
Result<double> time_row(RepeatedWork& work, int in_a_row, bool goes_on, RankStopwatch& stopwatch) {
  const auto row = [&work](int length) -> Status {
    for (int i = 0; i < length; ++i) TRY(work());
    return {};
  };
  const double seconds = TRY(stopwatch.time([&] { return row(in_a_row); },
                                            [&] { return row(goes_on ? (in_a_row + 3) / 4 : 0); }));
  return seconds / in_a_row;
}

/// The three kinds of work of ExchangingWork, ready to be repeated.
struct RepeatedKinds {
  RepeatedWork step, passes, alone;

  static Result<RepeatedKinds> create(const ExchangingWork& work, Stream& stream, bool replayed) {
    return RepeatedKinds{TRY(RepeatedWork::create(stream, replayed, work.step)),
                         TRY(RepeatedWork::create(stream, replayed, work.passes)),
                         TRY(RepeatedWork::create(stream, replayed, work.alone))};
  }
};

}  // namespace

void ExchangeTimes::add_doubt(std::vector<std::pair<std::string, std::string>>& notes) const {
  if (exposed() >= -0.02 * step) return;
  notes.emplace_back("exchange_exposed",
                     fmt::format("negative, so it is no cost of communication: without it a step "
                                 "took {:.0f}% longer than with it, as beside other programs",
                                 100 * (passes / step - 1)));
}

Result<RankStopwatch> RankStopwatch::create(Device& device, Stream& stream, ModelRanks ranks) {
  RankStopwatch made(stream, ranks);
  made.begin_ = TRY(device.create_event());
  made.end_ = TRY(device.create_event());
  made.idle_ = TRY(device.create_event());
  made.barrier_ = TRY(device.allocate(2 * sizeof(float), MemoryKind::device));
  TRY(stream.fill(made.barrier_.data(), 0, made.barrier_.bytes()));
  return made;
}

Result<double> RankStopwatch::time(const std::function<Status()>& queue,
                                   const std::function<Status()>& before) {
  TRY(wait());
  TRY(start_together(*ranks_.communicator, barrier_, stream_));
  if (before) TRY(before());
  TRY(stream_.record(*begin_));
  TRY(queue());
  TRY(stream_.record(*end_));
  TRY(wait());
  TRY(ranks_.communicator->status());
  return end_->seconds_since(*begin_);
}

Result<float> RankStopwatch::sum(float mine) {
  auto* const floats = barrier_.as<float>();
  TRY(wait());
  TRY(stream_.copy(floats, &mine, sizeof mine));
  TRY(ranks_.communicator->enqueue({.send = floats, .receive = floats + 1, .count = 1}, stream_));
  TRY(wait());
  TRY(ranks_.communicator->status());
  return TRY(read_back<float>(stream_, floats + 1, 1)).front();
}

Status RankStopwatch::wait() {
  return wait_for_ranks(*ranks_.communicator, stream_, *idle_, *ranks_.team);
}

Result<RepeatedWork> RepeatedWork::create(Stream& stream, bool replayed,
                                          std::function<Status()> queue) {
  RepeatedWork made(stream, std::move(queue));
  if (!replayed) return made;
  made.graph_ = TRY(captured(stream, made.queue_));
  return made;
}

Result<ExchangeTimes> measure_exchange(const ExchangingWork& work, Device& device, Stream& stream,
                                       ModelRanks ranks, bool replayed) {
  constexpr int most_rounds = 7;
  const int size = ranks.communicator->size();
  RankStopwatch stopwatch = TRY(RankStopwatch::create(device, stream, ranks));
  auto made = RepeatedKinds::create(work, stream, replayed);
  const float failed = TRY(stopwatch.sum(made.ok() ? 0 : 1));
  if (!made.ok()) return made.error();
  if (failed > 0) return Error{ErrorKind::failed, "another rank cannot repeat its steps"};
  auto& [step, passes, alone] = *made;
  ExchangeTimes times;
  for (const CollectiveCall& call : work.exchanged()) {
    times.bus_bytes += static_cast<double>(bytes_of(call, size)) * bus_factor(call.operation, size);
  }
  // The first run of each kind is the warm-up.
  for (RepeatedWork* const one : {&passes, &alone, &step}) TRY(stopwatch.time(std::ref(*one)));
  const double once = TRY(stopwatch.time(std::ref(step)));
  const int in_a_row = TRY(number_in_a_row(work.goes_on, once, stopwatch, size));
  const bool goes_on = work.goes_on > 0;
  const auto time = [&](RepeatedWork& one, int times_in_a_row) {
    return time_row(one, times_in_a_row, goes_on, stopwatch);
  };
  // The kinds alternate, so that drift affects all of them alike. The first long rows are not
  // counted, because the device is not warm yet.
  const int uncounted = in_a_row > 1 ? 1 : 0, rounds = in_a_row > 1 ? 3 : most_rounds;
  std::vector<double> of_step, of_passes, of_alone, clocks;
  for (int i = 0; i < rounds; ++i) {
    const double one_step = TRY(time(step, in_a_row)), one_pass = TRY(time(passes, in_a_row));
    const std::optional<double> clock = device.sense().clock_hz;
    for (int j = 0; j < most_rounds / rounds; ++j) of_alone.push_back(TRY(time(alone, 1)));
    if (i < uncounted) continue;
    of_step.push_back(one_step);
    of_passes.push_back(one_pass);
    if (clock) clocks.push_back(*clock);
  }
  times.step = median(of_step);
  times.passes = median(of_passes);
  times.alone = median(of_alone);
  if (!clocks.empty()) times.lowest_clock = times.highest_clock = median(clocks);
  return times;
}

Result<double> measure_call(const CollectiveCall& call, Device& device, Stream& stream,
                            ModelRanks ranks, bool replayed) {
  constexpr int rounds = 7, in_a_row = 20;
  RankStopwatch stopwatch = TRY(RankStopwatch::create(device, stream, ranks));
  RepeatedWork calls = TRY(RepeatedWork::create(stream, replayed, [&]() -> Status {
    for (int i = 0; i < in_a_row; ++i) TRY(ranks.communicator->enqueue(call, stream));
    return {};
  }));
  std::vector<double> seconds;
  for (int i = -1; i < rounds; ++i) {  // the first run is the warm-up
    const double taken = TRY(stopwatch.time(std::ref(calls)));
    if (i >= 0) seconds.push_back(taken / in_a_row);
  }
  return median(seconds);
}

std::string to_text(const ExchangeTimes& times) {
  std::string text;
  for (const double value :
       {times.step, times.passes, times.alone, times.one, times.bus_bytes, times.lowest_clock}) {
    put(text, std::bit_cast<std::uint64_t>(value));
  }
  return text;
}

Result<ExchangeTimes> of_all_ranks(const std::vector<std::string>& texts) {
  ExchangeTimes all;
  double fastest = 0;
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    PayloadReader reader(text);
    const auto next = [&] { return std::bit_cast<double>(reader.number()); };
    const double step = next(), passes = next(), alone = next(), one = next();
    const double bus_bytes = next(), clock = next();
    if (!reader.ok()) return Error{ErrorKind::failed, "a rank sent incomplete times of its steps"};
    // Work that waits for all ranks ends on all of them at once, so the shortest time is that of
    // the rank that started last, without waiting.
    all.step = least(all.step, step);
    all.alone = least(all.alone, alone);
    all.one = least(all.one, one);
    fastest = least(fastest, passes);
    all.passes = std::max(all.passes, passes);
    all.bus_bytes = std::max(all.bus_bytes, bus_bytes);
    all.highest_clock = std::max(all.highest_clock, clock);
    if (clock > 0) all.lowest_clock = least(all.lowest_clock, clock);
  }
  all.skew = fastest > 0 ? all.passes / fastest - 1 : 0;
  return all;
}

}  // namespace assay
