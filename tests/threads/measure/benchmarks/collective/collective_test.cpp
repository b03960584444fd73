// The collective and mpi benchmarks on teams of threads, each with a scripted device of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "measure/benchmarks/collective/collective_layout.h"
#include "measure/grid/benchmark.h"
#include "measure/sampling/team_results.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/rendezvous.h"
#include "ranks/team/thread_team.h"
#include "support/test_device.h"
#include "support/thread_communicator.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

Meeting* meeting = nullptr;  // of the communicators that are made next
std::atomic<int> communicators_made{0};

const CommunicatorRegistry::Add registered{
    {"threads", "between threads of this test",
     [](const Device& device, const Team&) { return device.facts().backend == "fake" ? 99 : 0; },
     [](Device&, Team& team, const CommunicatorConfig&) -> Result<std::unique_ptr<Communicator>> {
       ++communicators_made;
       return std::unique_ptr<Communicator>(
           std::make_unique<ThreadCommunicator>(*meeting, team.rank()));
     }}};

/// A device for every rank, kept for all cells of a test.
struct World {
  explicit World(int ranks) : team(ranks), shared(ranks) {
    for (int rank = 0; rank < ranks; ++rank) devices.push_back(open_fake_device("noise=0"));
  }
  ThreadTeam team;
  Meeting shared;
  std::vector<std::unique_ptr<Device>> devices;
};

/// What one rank saw of a cell.
struct Seen {
  std::string error;
  Verification verification;
  Work work;
  int launches = 0;
  TimeSource time_source{};
  bool takes_part = false;
  std::vector<std::pair<std::string, std::string>> notes;
};

constexpr int usual_samples = 3;

Result<Seen> measure(const Cell& cell, Device& device, Team& team, int samples) {
  Communicators communicators(device, team);
  auto stream = TRY(device.create_stream());
  auto work = TRY(
      find_benchmark(cell.benchmark())->prepare(cell, {device, *stream, 3, team, communicators}));
  for (int sample = 0; sample < samples; ++sample) {
    TRY(work->lead_in(*stream));
    TRY(work->enqueue(*stream));
    TRY(work->enqueue(*stream));
  }
  TRY(stream->synchronize());
  Seen seen;
  seen.verification = TRY(agree_on_verification(team, work->verify(*stream)));
  seen.work = work->work();
  seen.launches = work->launches_per_sample(1e-4);
  seen.time_source = work->time_source();
  seen.takes_part = work->takes_part();
  seen.notes = work->notes();
  return seen;
}

std::vector<Seen> run(World& world, const Cell& cell, int samples = usual_samples) {
  meeting = &world.shared;
  std::vector<Seen> seen(static_cast<std::size_t>(world.team.size()));
  world.team.run([&](Team& team) {
    const auto rank = static_cast<std::size_t>(team.rank());
    auto result = measure(cell, *world.devices[rank], team, samples);
    if (result) {
      seen[rank] = std::move(result).value();
    } else {
      seen[rank].error = result.error().message;
    }
  });
  return seen;
}

void expect_passed(World& world, const Cell& cell, int samples = usual_samples) {
  for (const Seen& seen : run(world, cell, samples)) {
    EXPECT_EQ(seen.error, "") << cell.id();
    EXPECT_TRUE(seen.verification.passed) << cell.id() << ": " << seen.verification.detail;
  }
}

Cell collective(std::string_view op, int ranks, std::string_view dtype = "f32",
                std::string_view redop = "sum", std::string_view place = "out",
                std::string_view launch = "stream", std::string_view size = "4000") {
  return {"collective",
          {{"op", std::string(op)},
           {"dtype", std::string(dtype)},
           {"redop", std::string(redop)},
           {"place", std::string(place)},
           {"ranks", std::to_string(ranks)},
           {"library", "threads"},
           {"launch", std::string(launch)},
           {"size", std::string(size)}}};
}

Cell message(int from, int to, std::string_view metric, std::string_view direction = "one",
             std::string_view size = "1000", std::string_view memory = "host") {
  return {"mpi",
          {{"from", std::to_string(from)},
           {"to", std::to_string(to)},
           {"metric", std::string(metric)},
           {"direction", std::string(direction)},
           {"memory", std::string(memory)},
           {"library", "threads"},
           {"size", std::string(size)}}};
}

const std::vector<std::string> operations = {"all_reduce", "all_gather", "reduce_scatter",
                                             "broadcast",  "reduce",     "all_to_all",
                                             "gather",     "scatter",    "send_recv"};

TEST(Collective, EveryOperationPassesInEveryPlaceOnEveryTeam) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    World world(ranks);
    for (const std::string& op : operations) {
      expect_passed(world, collective(op, ranks));
      if (runs_in_place(*parse_collective_operation(op))) {
        expect_passed(world, collective(op, ranks, "f16", "sum", "in"));
      }
    }
  }
}

TEST(Collective, EveryTypeAndReductionPasses) {
  World world(3);
  for (const char* type : {"f64", "f32", "f16", "bf16", "e4m3", "e5m2", "e4m3_fnuz", "e5m2_fnuz",
                           "i8", "u8", "i32", "u32", "i64", "u64"}) {
    for (const char* redop : {"sum", "prod", "min", "max", "avg"}) {
      expect_passed(world, collective("all_reduce", 3, type, redop, "in", "stream", "1000"));
    }
    expect_passed(world, collective("reduce_scatter", 3, type, "sum", "out", "stream", "1000"));
    expect_passed(world, collective("all_gather", 3, type, "none", "in", "stream", "1000"));
  }
}

TEST(Collective, QueuedOperationsAndGraphsPass) {
  World world(3);
  world.shared.queues = true;
  for (const char* launch : {"stream", "graph"}) {
    for (const char* op : {"all_reduce", "all_gather", "all_to_all"}) {
      const auto seen = run(world, collective(op, 3, "f32", "sum", "out", launch));
      for (const Seen& rank : seen) {
        EXPECT_EQ(rank.error, "");
        EXPECT_TRUE(rank.verification.passed) << rank.verification.detail;
        EXPECT_EQ(rank.time_source, TimeSource::device_events);
        const bool graph = std::string_view(launch) == "graph";
        EXPECT_EQ(rank.work.repetitions, graph ? 20 : 1);
        EXPECT_EQ(rank.launches, graph ? 1 : 20);
      }
    }
  }
}

TEST(Collective, AWrongElementOfAnyRegionOfAGraphIsFound) {
  World world(2);
  world.shared.queues = true;
  world.shared.fault_rank = 1;
  for (const Seen& seen : run(world, collective("all_reduce", 2, "f32", "sum", "in", "graph"))) {
    EXPECT_FALSE(seen.verification.passed);
    EXPECT_EQ(seen.verification.error, 20);  // one in each operation
  }
}

TEST(Collective, APlantedWrongElementIsNamedByRankIndexAndBuffer) {
  World world(3);
  world.shared.fault_rank = 2;
  for (const bool in_send : {false, true}) {
    world.shared.fault_in_send = in_send;
    world.shared.fault_at = 4 * 77;
    for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all",
                           "scatter", "send_recv"}) {
      for (const Seen& seen : run(world, collective(op, 3, "i32"))) {
        EXPECT_FALSE(seen.verification.passed) << op;
        EXPECT_EQ(seen.verification.error, 1) << op;
        EXPECT_THAT(seen.verification.detail,
                    AllOf(HasSubstr("rank 2 on " + host_name()), HasSubstr("element 77 of its"),
                          HasSubstr(in_send ? "send buffer is " : "receive buffer is "),
                          HasSubstr("should be ")))
            << op;
      }
    }
  }
}

TEST(Collective, AFaultOnARankThatReceivesNothingIsNoError) {
  World world(3);
  world.shared.fault_rank = 2;
  for (const char* op : {"reduce", "gather"}) {
    for (const Seen& seen : run(world, collective(op, 3))) EXPECT_TRUE(seen.verification.passed);
  }
}

TEST(Collective, BytesAreThoseOfTheLargerBufferTimesTheBusFactor) {
  World world(3);
  const auto work = [&](std::string_view op) {
    return run(world, collective(op, 3))[0].work.bytes;
  };
  EXPECT_DOUBLE_EQ(work("all_reduce"), 4000 * 4.0 / 3);
  EXPECT_DOUBLE_EQ(work("broadcast"), 4000);
  EXPECT_DOUBLE_EQ(work("all_gather"), 3984 * 2.0 / 3);  // 332 elements of each rank
  const auto seen = run(world, collective("all_gather", 3))[0];
  EXPECT_THAT(seen.notes, Contains(Pair("bytes", "3984")));
  EXPECT_THAT(seen.notes, Contains(Pair("count", "332")));
  EXPECT_THAT(seen.notes, Contains(Pair("bus_factor", "0.666667")));
  EXPECT_THAT(seen.notes, Contains(Pair("library", "threads 1.0")));
  EXPECT_THAT(seen.notes, Contains(Pair("buffers", "cold")));
  EXPECT_EQ(seen.time_source, TimeSource::host_clock);
}

TEST(Collective, EveryRankRefusesWhatOneCannotDo) {
  World world(3);
  for (const Seen& seen : run(world, collective("all_reduce", 2))) {
    EXPECT_THAT(seen.error, HasSubstr("ranks=2 of a team of 3"));
  }
  for (const Seen& seen : run(world, collective("all_reduce", 3, "f32", "sum", "out", "graph"))) {
    EXPECT_THAT(seen.error, HasSubstr("use launch=stream"));
  }
  world.devices[1] = open_fake_device("memory=1000");
  const auto seen = run(world, collective("all_reduce", 3));
  EXPECT_THAT(seen[1].error, HasSubstr("fake: "));
  EXPECT_THAT(seen[0].error, HasSubstr("rank 1 on " + host_name() + ": fake: "));
  EXPECT_THAT(seen[2].error, HasSubstr("rank 1 on " + host_name() + ": fake: "));
}

TEST(Collective, CellsAreExpandedForDeviceAndTeam) {
  World world(3);
  const Benchmark& benchmark = *find_benchmark("collective");
  const auto expand = [&](std::string_view op, std::string_view ranks, std::string_view library) {
    Cell cell("collective", {{"op", std::string(op)},
                             {"dtype", "e4m3"},
                             {"redop", "max"},
                             {"place", "out"},
                             {"ranks", std::string(ranks)},
                             {"library", std::string(library)},
                             {"launch", "stream"},
                             {"size", "1KiB"}});
    return benchmark.expand(cell, *world.devices[0], world.team.rank(0)).front();
  };
  const Cell all = expand("all_reduce", "all", "auto");
  EXPECT_EQ(all.text("ranks"), "3");
  EXPECT_EQ(all.text("library"), "threads");
  EXPECT_EQ(all.text("redop"), "max");
  EXPECT_EQ(all.text("dtype"), "e4m3");
  const Cell some = expand("all_gather", "2", "tcp");
  EXPECT_EQ(some.text("ranks"), "2");
  EXPECT_EQ(some.text("library"), "tcp");
  EXPECT_EQ(some.text("redop"), "none");
}

TEST(Collective, OneCommunicatorServesAllCellsAndAFailureIsNotRepeated) {
  World world(2);
  meeting = &world.shared;
  communicators_made = 0;
  world.team.run([&](Team& team) {
    Communicators communicators(*world.devices[static_cast<std::size_t>(team.rank())], team);
    const auto first = communicators.get("threads");
    ASSERT_TRUE(first);
    EXPECT_EQ(*first, *communicators.get("threads"));
    const auto none = communicators.get("carrier pigeons");
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("no collective library carrier pigeons"));
  });
  EXPECT_EQ(communicators_made, 2);
}

TEST(Communicators, PartsAreKeptAndAgreedOn) {
  ThreadTeam team(4);
  team.run([&](Team& team_end) {
    const auto device = open_test_device("cpu");
    const auto stream = std::move(device->create_stream()).value();
    Communicators communicators(*device, team_end);
    const int rank = team_end.rank();
    const auto pair = communicators.split("tcp", rank / 2, 0);
    ASSERT_TRUE(pair) << pair.error().message;
    EXPECT_EQ((*pair)->size(), 2);
    EXPECT_NE(*pair, *communicators.get("tcp"));
    const auto none = communicators.split("tcp", rank == 3 ? -1 : 0, 0);
    ASSERT_TRUE(none);
    EXPECT_EQ(*none == nullptr, rank == 3);
    EXPECT_THAT(communicators.split("tcp", 0, 0, {3, 2}).error().message,
                HasSubstr("CTAs from 3 to 2 are not allowed"));
    EXPECT_FALSE(communicators.split("carrier pigeons", 0, 0));
    EXPECT_TRUE(team_end.exchange("ready", ""));
    communicators.abort();
    float value = 1;
    CollectiveCall call;
    call.send = call.receive = &value;
    call.count = 1;
    EXPECT_FALSE((*pair)->run(call, *stream));  // also of parts
    EXPECT_TRUE(team_end.exchange("end", ""));
  });
}

TEST(Messages, BandwidthAndLatencyPassBetweenAnyTwoRanks) {
  for (const bool queues : {false, true}) {
    World world(3);
    world.shared.queues = queues;
    for (const auto& [from, to] : {std::pair{0, 1}, {2, 0}}) {
      expect_passed(world, message(from, to, "latency"));
      expect_passed(world, message(from, to, "bandwidth"));
      expect_passed(world, message(from, to, "bandwidth", "both"));
      expect_passed(world, message(from, to, "bandwidth", "one", "1", "device"));
    }
    expect_passed(world, message(0, 1, "bandwidth", "one", "3MiB"), 1);  // 63 MiB each
  }
}

TEST(Messages, WorkCountsWhatThePairMoves) {
  World world(3);
  const auto bandwidth = run(world, message(0, 1, "bandwidth"));
  EXPECT_EQ(bandwidth[0].work.bytes, 64 * 1000);
  EXPECT_EQ(bandwidth[0].work.repetitions, 1);
  EXPECT_TRUE(bandwidth[1].takes_part);
  EXPECT_FALSE(bandwidth[2].takes_part);
  EXPECT_EQ(run(world, message(0, 1, "bandwidth", "both"))[1].work.bytes, 2 * 64 * 1000);
  EXPECT_EQ(run(world, message(0, 1, "latency"))[0].work.repetitions, 2);
  EXPECT_EQ(run(world, message(0, 1, "bandwidth", "one", "3MiB"), 0)[0].work.bytes, 21 * 3 << 20);
}

TEST(Messages, APlantedWrongByteIsNamed) {
  World world(2);
  world.shared.fault_rank = 1;
  world.shared.fault_at = 321;
  for (const char* metric : {"bandwidth", "latency"}) {
    for (const Seen& seen : run(world, message(0, 1, metric))) {
      EXPECT_FALSE(seen.verification.passed);
      EXPECT_THAT(
          seen.verification.detail,
          AllOf(HasSubstr("rank 1 on " + host_name() + ": byte 321 of message 0 from rank 0 is ")));
      EXPECT_EQ(seen.verification.error, std::string_view(metric) == "latency" ? 1 : 64);
    }
  }
}

TEST(Messages, AllStandsForEveryPair) {
  World world(3);
  const Benchmark& benchmark = *find_benchmark("mpi");
  const auto pairs = [&](std::string from, std::string to, std::string direction) {
    const Cell cell("mpi", {{"from", std::move(from)},
                            {"to", std::move(to)},
                            {"metric", "bandwidth"},
                            {"direction", std::move(direction)},
                            {"memory", "host"},
                            {"library", "auto"},
                            {"size", "1KiB"}});
    std::string text;
    for (const Cell& one : benchmark.expand(cell, *world.devices[0], world.team.rank(0))) {
      EXPECT_EQ(one.text("library"), "threads");
      text += std::string(one.text("from")) + ">" + std::string(one.text("to")) + " ";
    }
    return text;
  };
  EXPECT_EQ(pairs("all", "all", "one"), "0>1 0>2 1>0 1>2 2>0 2>1 ");
  EXPECT_EQ(pairs("all", "all", "both"), "0>1 0>2 1>2 ");
  EXPECT_EQ(pairs("1", "all", "both"), "1>0 1>2 ");
  EXPECT_EQ(pairs("0", "2", "one"), "0>2 ");
  EXPECT_EQ(pairs("1", "1", "one"), "1>1 ");  // refused later, with a reason
}

}  // namespace
}  // namespace assay
