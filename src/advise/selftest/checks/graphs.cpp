// Graphs: captures of several streams, replays, captures that replace others.
#include <chrono>
#include <thread>

#include "advise/selftest/expect.h"
#include "advise/selftest/launch_counter.h"
#include "compute/device/helpers.h"

namespace assay::selftest::graphs {
namespace {

Answer two_streams(Stage& stage) {
  Device& device = stage.device;
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  auto other = TRY(device.create_stream());
  auto fork = TRY(device.create_event()), join = TRY(device.create_event());
  const auto graph = TRY(captured(stage.stream, [&]() -> Status {
    TRY(counter.increment(stage.stream));
    TRY(stage.stream.record(*fork));
    TRY(other->wait(*fork));
    TRY(counter.increment(*other));
    TRY(other->record(*join));
    return stage.stream.wait(*join);
  }));
  TRY(counter.expect(0, "during a capture"));
  for (int i = 0; i < 3; ++i) TRY(stage.stream.launch(*graph));
  TRY(counter.expect(6, "in three replays"));
  TRY(counter.increment(*other));
  TRY(other->synchronize());
  TRY(counter.expect(7, "on a stream that a capture has joined"));
  return passed();
}

/// Three streams, each of which waits for its predecessor; collectives fork their links like this.
Answer nested_forks(Stage& stage) {
  Device& device = stage.device;
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Event>> forks, joins;
  for (int i = 0; i < 3; ++i) {
    streams.push_back(TRY(device.create_stream()));
    forks.push_back(TRY(device.create_event(EventKind::untimed)));
    joins.push_back(TRY(device.create_event(EventKind::untimed)));
  }
  const auto graph = TRY(captured(stage.stream, [&]() -> Status {
    Stream* from = &stage.stream;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      TRY(from->record(*forks[i]));
      TRY(streams[i]->wait(*forks[i]));
      TRY(counter.increment(*streams[i]));
      from = streams[i].get();
    }
    for (std::size_t i = streams.size(); i-- > 0;) {
      TRY(streams[i]->record(*joins[i]));
      Stream& to = i == 0 ? stage.stream : *streams[i - 1];
      TRY(to.wait(*joins[i]));
    }
    return counter.increment(stage.stream);
  }));
  for (int i = 0; i < 2; ++i) TRY(stage.stream.launch(*graph));
  TRY(counter.expect(8, "in two replays of three nested streams"));
  return passed();
}

Answer updates(Stage& stage) {
  Stream& stream = stage.stream;
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  const Buffer numbers = TRY(stage.device.allocate(2 * sizeof(unsigned), MemoryKind::device));
  TRY(stream.fill(numbers.data(), 0, numbers.bytes()));
  const auto queue = [&](int launches, int at) -> Status {
    for (int i = 0; i < launches; ++i) {
      TRY(launch(stream, counter.kernel(), {}, numbers.as<unsigned>() + at));
    }
    return {};
  };
  const auto expect_counts = [&](unsigned first, unsigned second, std::string_view when) -> Status {
    const auto found = TRY(read_back<unsigned>(stream, numbers.data(), 2));
    return expect_equal(fmt::format("runs at two addresses {}", when), found,
                        std::vector<unsigned>{first, second});
  };
  auto graph = TRY(captured(stream, [&] { return queue(2, 0); }));
  std::string seen;
  if (const Status uploaded = stream.upload(*graph); !uploaded.ok()) {
    TRY(expect_refused("uploading a graph", uploaded, ErrorKind::unsupported, "uploading a graph"));
    seen = "this runtime cannot upload graphs";
  }
  TRY(stream.launch(*graph));
  TRY(expect_counts(2, 0, "after the first graph"));
  const auto capture_again = [&](int launches, GraphUpdate expected) -> Status {
    TRY(stream.begin_capture());
    const Status queued = queue(launches, 1);
    const auto updated = stream.end_capture_into(*graph);
    TRY(queued);
    if (!updated.ok()) return updated.error();
    return expect(*updated == expected, expected == GraphUpdate::in_place
                                            ? "a graph of the same shape was not updated"
                                            : "a graph of another shape was not built anew");
  };
  TRY(capture_again(2, GraphUpdate::in_place));
  TRY(expect_counts(2, 0, "after an update, which must not run anything"));
  for (int i = 0; i < 2; ++i) TRY(stream.launch(*graph));
  TRY(expect_counts(2, 4, "after two launches of the updated graph"));
  TRY(capture_again(3, GraphUpdate::rebuilt));
  TRY(stream.launch(*graph));
  TRY(expect_counts(2, 7, "after a launch of the graph that was built anew"));
  TRY(expect_refused("an update without a capture", stream.end_capture_into(*graph), ""));
  return seen;
}

/// Launches thousands of small graphs, of which each must see the results of its predecessor.
Answer order(Stage& stage) {
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  const unsigned launches = stage.large ? 2000 : 20;
  const auto graph = TRY(captured(stage.stream, [&] { return counter.increment(stage.stream); }));
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < launches; ++i) {
    TRY(counter.increment(stage.stream));
    TRY(stage.stream.launch(*graph));
  }
  TRY(stage.stream.synchronize());
  const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - begin;
  TRY(counter.expect(2 * launches, "in launches and replays that follow each other"));
  return fmt::format("a launch and a replay take {:.1f} us together", passed.count() / launches);
}

const AddChecks registered{
    {.name = "graph-streams",
     .topic = Topic::device,
     .about = "a graph replays two streams in their order",
     .accelerator = false,
     .run = &two_streams},
    {.name = "graph-nested-streams",
     .topic = Topic::device,
     .about = "a graph replays streams that fork from each other",
     .accelerator = false,
     .run = &nested_forks},
    {.name = "graph-update",
     .topic = Topic::device,
     .about = "a graph takes a new capture",
     .accelerator = false,
     .run = &updates},
    {.name = "launch-order",
     .topic = Topic::hardware,
     .about = "launches and replays keep their order",
     .accelerator = false,
     .run = &order},
};

}  // namespace
}  // namespace assay::selftest::graphs
