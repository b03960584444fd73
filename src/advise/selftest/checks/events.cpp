// Events: their times on streams and in graphs.
#include <chrono>
#include <thread>

#include "advise/selftest/expect.h"
#include "advise/selftest/launch_counter.h"
#include "compute/device/helpers.h"
#include "core/units.h"
#include "measure/sampling/event_resolution.h"
#include "measure/sampling/start_gate.h"

namespace assay::selftest::events {
namespace {

/// How much the device may round its times, in seconds.
double rounding_of(const DeviceFacts& facts) {
  if (facts.emulated) return 1e-6;
  if (facts.is_host_cpu()) return 0;
  return facts.runs_on_host ? 1e-9 : 2e-6;
}

/// A host that is busy with other programs sees more time pass than the device, by up to two
/// seconds on a CPU device, whose threads wait for their turn.
Answer agree_with_host(Stage& stage) {
  Device& device = stage.device;
  if (device.facts().emulated) {
    return Error{ErrorKind::unsupported, "an emulated device's clock does not follow the host's"};
  }
  const double tolerance = device.facts().runs_on_host ? 2 : 0.02;
  auto gate = TRY(Gate::create(device));
  auto start = TRY(device.create_event()), stop = TRY(device.create_event());
  TRY(expect(!stop->seconds_since(*start).ok(), "events that were never recorded have a time"));
  const auto begin = std::chrono::steady_clock::now();
  TRY(stage.stream.record(*start));
  TRY(gate.close(stage.stream));
  TRY(stage.stream.record(*stop));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  gate.open();
  TRY(stop->synchronize());
  const std::chrono::duration<double> host = std::chrono::steady_clock::now() - begin;
  const double seconds = TRY(stop->seconds_since(*start));
  TRY(expect_within("seconds of the device in 0.1 s of the host", seconds, host.count() - tolerance,
                    host.count() + tolerance));
  return fmt::format("{} on the device, {} on the host", format_seconds(seconds),
                     format_seconds(host.count()));
}

Answer resolution(Stage& stage) {
  const auto program = TRY(stage.device.build({"empty", {}}));
  Kernel* const empty = TRY(program->kernel("empty"));
  const double seconds = TRY(event_resolution(stage.device, stage.stream, *empty));
  TRY(expect(seconds < 1e-4, fmt::format("events resolve only {}", format_seconds(seconds))));
  return seconds == 0 ? "all intervals are equal"
                      : fmt::format("event clock: {}", format_seconds(seconds));
}

/// Events that a graph records at each replay, and two around it on the stream.
Answer in_graphs(Stage& stage) {
  Stream& stream = stage.stream;
  const double rounding = rounding_of(stage.device.facts());
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  std::vector<std::unique_ptr<Event>> inside, outside;
  for (int i = 0; i < 3; ++i) {
    inside.push_back(TRY(stage.device.create_event()));
    outside.push_back(TRY(stage.device.create_event()));
  }
  TRY(expect_refused("an event of each replay outside a capture",
                     stream.record_each_replay(*inside[0]), "record_each_replay()"));
  const auto graph = TRY(captured(stream, [&]() -> Status {
    for (std::size_t i = 0; i < inside.size(); ++i) {
      TRY(stream.record_each_replay(*inside[i]));
      for (std::size_t n = 0; i + 1 < inside.size() && n < 8 * (i + 1); ++n) {
        TRY(counter.increment(stream));
      }
    }
    return {};
  }));
  TRY(expect(!inside[1]->seconds_since(*inside[0]).ok(),
             "events of a graph have times before its first replay"));
  for (int replay = 0; replay < 3; ++replay) {
    TRY(stream.record(*outside[0]));
    TRY(stream.launch(*graph));
    TRY(stream.record(*outside[1]));
    TRY(stream.synchronize());
    const double before = TRY(inside[0]->seconds_since(*outside[0]));
    const double first = TRY(inside[1]->seconds_since(*inside[0]));
    const double second = TRY(inside[2]->seconds_since(*inside[1]));
    const double after = TRY(outside[1]->seconds_since(*inside[2]));
    const double all = TRY(outside[1]->seconds_since(*outside[0]));
    const std::string times = fmt::format("replay {}: {:g}, {:g}, {:g}, {:g} s of {:g} s", replay,
                                          before, first, second, after, all);
    TRY(expect(before >= -rounding && after >= -rounding,
               "a graph's events have the times of an earlier replay; " + times));
    TRY(expect(first > 0 && second > 0, "a graph's events do not advance; " + times));
    TRY(expect(first + second <= all + rounding, "a graph's parts exceed the whole; " + times));
    const bool done = TRY(inside[2]->done());
    TRY(expect(done, "an event of a finished replay is not done"));
  }
  TRY(counter.expect(3 * 24, "in three replays"));
  return passed();
}

Answer untimed(Stage& stage) {
  Device& device = stage.device;
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  auto other = TRY(device.create_stream());
  auto without_time = TRY(device.create_event(EventKind::untimed));
  auto timed = TRY(device.create_event());
  TRY(counter.increment(stage.stream));
  TRY(stage.stream.record(*without_time));
  TRY(other->wait(*without_time));
  TRY(counter.increment(*other));
  TRY(other->record(*timed));
  TRY(timed->synchronize());
  const bool done = TRY(without_time->done());
  TRY(expect(done, "an event that another stream waited for is not done"));
  TRY(counter.expect(2, "on two streams"));
  for (const auto& seconds :
       {timed->seconds_since(*without_time), without_time->seconds_since(*timed)}) {
    TRY(expect_refused("the time of an untimed event", seconds, "untimed"));
  }
  return passed();
}

const AddChecks registered{
    {.name = "event-times",
     .topic = Topic::device,
     .about = "events agree with the host's clock",
     .accelerator = false,
     .run = &agree_with_host},
    {.name = "event-resolution",
     .topic = Topic::hardware,
     .about = "events resolve less than 0.1 ms",
     .accelerator = false,
     .run = &resolution},
    {.name = "graph-event-times",
     .topic = Topic::device,
     .about = "events in a graph have the times of each replay",
     .accelerator = false,
     .run = &in_graphs},
    {.name = "untimed-events",
     .topic = Topic::device,
     .about = "events without times order streams",
     .accelerator = false,
     .run = &untimed},
};

}  // namespace
}  // namespace assay::selftest::events
