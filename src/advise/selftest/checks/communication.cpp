// Devices that work together: the collective library of the backend, peer memory, and copies from
// one device to another. One rank alone shows whether the library loads and queues its work.
#include <fmt/format.h>

#include <functional>
#include <string>

#include "advise/selftest/check.h"
#include "advise/selftest/contracts/collective_examples.h"
#include "advise/selftest/contracts/communicator_contract.h"
#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "measure/grid/benchmark.h"
#include "measure/sampling/sampler.h"
#include "measure/suites/cells_of_target.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/thread_team.h"

namespace assay::selftest::communication {
namespace {

/// Opens another device of the stage's machine; number 0 is the stage's own.
Result<std::unique_ptr<Device>> open_neighbour(const Stage& stage, int number) {
  const int devices = stage.device.siblings();
  if (number >= devices) {
    return Error{ErrorKind::unsupported,
                 fmt::format("this machine has {} of the devices, too few", devices)};
  }
  return stage.device.open_sibling((stage.device.facts().ordinal + number) % devices);
}

/// Calls `use` on two ranks: threads of this process, each with a device.
Status on_two_devices(Stage& stage,
                      const std::function<Status(ThreadTeam::End&, Device&, Stream&)>& use) {
  TRY(open_neighbour(stage, 1));  // before ranks wait for each other
  constexpr double patience_seconds = 30;
  ThreadTeam team(2, stage.large ? patience_seconds : 10 * patience_seconds);
  return team.run_checked([&](ThreadTeam::End& end) -> Status {
    const auto device = TRY(open_neighbour(stage, end.rank()));
    const auto stream = TRY(device->create_stream());
    return use(end, *device, *stream);
  });
}

std::string_view best_kind(Stage& stage) {
  return best_communicator_kind(stage.device, solo_team());
}

/// Every operation of a communicator on memory of the device. Answers with the library.
Result<std::string> run_operations(std::string_view kind, Device& device, Team& team,
                                   Stream& stream) {
  const auto memory = TRY(DeviceOperands::create(device, std::size_t{1} << 20));
  std::string library;
  {
    const CommunicatorKind found = TRY(communicator_kind(kind));
    const auto communicator = TRY(found.create(device, team, {}));
    const auto tally =
        TRY(check_collectives(*communicator, stream, team.rank(), team.size(), {1, 1001}, &memory));
    TRY(expect(tally.run > 0, "the communicator supports no operation"));
    library = fmt::format("{}: {} calls, {} not supported", communicator->library(), tally.run,
                          tally.refused);
    TRY(team.exchange("the operations have ended", ""));  // before the memory of others goes
  }
  TRY(team.exchange("the communicator has ended", ""));
  return library;
}

Answer operations_alone(Stage& stage, std::string_view kind) {
  return run_operations(kind, stage.device, solo_team(), stage.stream);
}
Answer communicators_alone(Stage& stage, std::string_view kind, bool messages) {
  const CommunicatorKind found = TRY(communicator_kind(kind));
  TRY(check_communicators(found, stage.device, solo_team(), stage.stream, {.messages = messages}));
  return passed();
}

Answer operations_of_two(Stage& stage, std::string_view kind) {
  std::string library;
  TRY(on_two_devices(stage, [&](ThreadTeam::End& end, Device& device, Stream& stream) -> Status {
    std::string used = TRY(run_operations(kind, device, end, stream));
    if (end.rank() == 0) library = std::move(used);
    return {};
  }));
  return library;
}
Answer communicators_of_two(Stage& stage, std::string_view kind, bool messages) {
  const CommunicatorKind found = TRY(communicator_kind(kind));
  TRY(on_two_devices(stage, [&](ThreadTeam::End& end, Device& device, Stream& stream) {
    return check_communicators(found, device, end, stream, {.messages = messages});
  }));
  return passed();
}

/// Fewer CTAs move less: the bound reaches the library.
Answer bound_on_ctas(Stage& stage) {
  if (!stage.large) {
    return Error{ErrorKind::unsupported, "times of an emulated device say nothing about CTAs"};
  }
  const CommunicatorKind kind = TRY(communicator_kind(best_kind(stage)));
  std::string answer;
  TRY(on_two_devices(stage, [&](ThreadTeam::End& end, Device& device, Stream& stream) -> Status {
    const auto begin = TRY(device.create_event()), done = TRY(device.create_event());
    constexpr std::size_t bytes = std::size_t{256} << 20;
    const Buffer buffer = TRY(device.allocate(bytes, MemoryKind::device));
    TRY(stream.fill(buffer.data(), 0, bytes));
    TRY(stream.synchronize());
    CollectiveCall call;
    call.send = call.receive = buffer.data();
    call.count = bytes / sizeof(float);
    const auto seconds = [&](const CommunicatorConfig& config) -> Result<double> {
      const auto communicator = TRY(kind.create(device, end, config));
      for (int i = 0; i < 3; ++i) {
        if (i == 1) TRY(stream.record(*begin));
        TRY(communicator->run(call, stream));
      }
      TRY(stream.record(*done));
      TRY(stream.synchronize());
      return done->seconds_since(*begin);
    };
    const double free = TRY(seconds({}));
    TRY(end.exchange("the free communicator has ended", ""));
    const double bound = TRY(seconds({1, 1}));
    const std::string found =
        fmt::format("an all-reduce with one CTA takes {:.1f} times as long", bound / free);
    if (end.rank() == 0) answer = found;
    return expect(bound > 1.5 * free, found + ", expected at least 1.5 times");
  }));
  return answer;
}

/// The main stream's queue is long; a stream of the other device waits for it, and it for that.
Answer events_across_devices(Stage& stage) {
  const auto other = TRY(open_neighbour(stage, 1));
  const auto there = TRY(other->create_stream());
  const auto fork = TRY(stage.device.create_event()), end = TRY(stage.device.create_event());
  const auto join = TRY(other->create_event());
  const std::size_t bytes = std::size_t{1} << (stage.large ? 26 : 16);
  const Buffer mine = TRY(stage.device.allocate(bytes, MemoryKind::device));
  const Buffer theirs = TRY(other->allocate(bytes, MemoryKind::device));
  Stream& here = stage.stream;
  for (int i = 0; i < 32; ++i) TRY(here.fill(mine.data(), 1, bytes));
  TRY(here.record(*fork));
  TRY(there->wait(*fork));
  TRY(there->fill(theirs.data(), 2, bytes));
  TRY(there->record(*join));
  TRY(here.wait(*join));
  TRY(here.record(*end));
  TRY(here.synchronize());
  const bool joined = TRY(join->done());
  TRY(expect(joined, "the main stream did not wait for the other device"));
  const double seconds = TRY(end->seconds_since(*fork));
  TRY(expect(seconds > 0, "work of the other device took no time"));
  return passed();
}

/// One cell of the benchmark `peer`: whether it arrives whole and its rate, bytes/s. Empty: this
/// machine has no direct path.
Result<std::optional<double>> copy_rate(Stage& stage, Sampler& sampler, const Cell& cell) {
  const Benchmark& benchmark = *find_benchmark("peer");
  if (const auto reason = benchmark.unsupported(cell, stage.device)) {
    return Error{ErrorKind::unsupported, *reason};
  }
  Communicators alone(stage.device, solo_team());
  auto prepared = benchmark.prepare(cell, {stage.device, sampler.stream(), 1, solo_team(), alone});
  if (!prepared.ok() && prepared.error().kind == ErrorKind::unsupported) {
    return std::optional<double>();
  }
  const auto work = TRY(std::move(prepared));
  for (int i = 0; i < 3; ++i) {
    TRY(work->enqueue(sampler.stream()));
    TRY(sampler.stream().synchronize());
  }
  const auto seconds = TRY(work->own_seconds());
  TRY(expect(seconds.has_value(), "the copies have no time of their own"));
  const Verification verified = TRY(work->verify(sampler.stream()));
  TRY(expect(verified.passed, verified.detail));
  return std::optional(work->work().bytes / *seconds);
}

Answer copies(Stage& stage, const std::string& pattern) {
  TRY(open_neighbour(stage, 1));
  constexpr int most_emulated = 16;  // all to all, each pair takes several emulated kernels
  if (!stage.large && pattern == "all_to_all" && stage.device.siblings() > most_emulated) {
    return Error{ErrorKind::unsupported,
                 fmt::format("copies between all of {} devices take an emulator too long",
                             stage.device.siblings())};
  }
  const auto sampler = TRY(Sampler::create(stage.device));
  double fastest = 0;
  for (const std::string engine : {"copy", "kernel"}) {
    for (const std::string by : {"destination", "source"}) {
      for (const std::string size : {"4KiB", stage.large ? "64MiB" : "68KiB"}) {
        const Cell wanted("peer", {{"pattern", pattern},
                                   {"engine", engine},
                                   {"by", by},
                                   {"from", "0"},
                                   {"to", "1"},
                                   {"size", size}});
        const Cell cell = expand_on({wanted}, stage.device, solo_team()).at(0);
        const auto found = copy_rate(stage, *sampler, cell);
        if (!found.ok()) return Error{found.error().kind, cell.id() + ": " + found.error().message};
        if (!*found) continue;
        fastest = std::max(fastest, **found);
        const double least = !stage.large ? 0 : size == "4KiB" ? 1e6 : 1e9;
        TRY(expect_within(cell.id() + ", bytes/s", **found, least, 2e13));
      }
    }
  }
  if (fastest == 0) return Error{ErrorKind::unsupported, "the devices have no direct path"};
  return fmt::format("up to {:.1f} GB/s", fastest / 1e9);
}

constexpr int two = 2;

const AddChecks registered{
    {.name = "collective-one-rank-operations",
     .topic = Topic::communication,
     .about = "the collective library computes every operation and type of a single rank",
     .accelerator = false,
     .run = [](Stage& stage) { return operations_alone(stage, best_kind(stage)); }},
    {.name = "collective-one-rank",
     .topic = Topic::communication,
     .about = "the collective library splits, queues and is captured with a single rank",
     .accelerator = false,
     .run = [](Stage& stage) { return communicators_alone(stage, best_kind(stage), true); }},
    {.name = "collective-one-rank-peer-memory",
     .topic = Topic::communication,
     .about = "communicators through peer memory work with a single rank",
     .accelerator = false,
     .run = [](Stage& stage) { return communicators_alone(stage, "peer", false); }},
    {.name = "collective-operations",
     .topic = Topic::communication,
     .about = "the collective library computes every operation and type between two devices",
     .devices = two,
     .run = [](Stage& stage) { return operations_of_two(stage, best_kind(stage)); }},
    {.name = "collective-communicators",
     .topic = Topic::communication,
     .about = "communicators of two devices coexist, split, queue and are captured",
     .devices = two,
     .run = [](Stage& stage) { return communicators_of_two(stage, best_kind(stage), true); }},
    {.name = "peer-memory-operations",
     .topic = Topic::communication,
     .about = "collectives through peer memory compute the right elements on two devices",
     .devices = two,
     .run = [](Stage& stage) { return operations_of_two(stage, "peer"); }},
    {.name = "peer-memory-communicators",
     .topic = Topic::communication,
     .about = "communicators through peer memory coexist, split, queue and are captured",
     .devices = two,
     .run = [](Stage& stage) { return communicators_of_two(stage, "peer", false); }},
    {.name = "collective-ctas",
     .topic = Topic::communication,
     .about = "a bound on CTAs reaches the collective library: with one, an all-reduce is slower",
     .devices = two,
     .run = &bound_on_ctas},
    {.name = "events-across-devices",
     .topic = Topic::communication,
     .about = "events of one device hold back a stream of another",
     .devices = two,
     .run = &events_across_devices},
    {.name = "peer-copies-pair",
     .topic = Topic::communication,
     .about = "copies from a device to another arrive whole",
     .devices = two,
     .run = [](Stage& stage) { return copies(stage, "pair"); }},
    {.name = "peer-copies-both",
     .topic = Topic::communication,
     .about = "copies between two devices, both ways at once, arrive whole",
     .devices = two,
     .run = [](Stage& stage) { return copies(stage, "both"); }},
    {.name = "peer-copies-one-to-all",
     .topic = Topic::communication,
     .about = "copies from one device to all others at once arrive whole",
     .devices = two,
     .run = [](Stage& stage) { return copies(stage, "one_to_all"); }},
    {.name = "peer-copies-all-to-one",
     .topic = Topic::communication,
     .about = "copies from all devices to one at once arrive whole",
     .devices = two,
     .run = [](Stage& stage) { return copies(stage, "all_to_one"); }},
    {.name = "peer-copies-all-to-all",
     .topic = Topic::communication,
     .about = "copies between all devices at once arrive whole",
     .devices = two,
     .run = [](Stage& stage) { return copies(stage, "all_to_all"); }},
};

}  // namespace
}  // namespace assay::selftest::communication
