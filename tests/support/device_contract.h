// The contract of launches, streams, events, gates and graphs on every device; each backend's tests
// run it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "compute/device/helpers.h"
#include "measure/sampling/start_gate.h"
#include "support/test_device.h"

namespace assay {

class DeviceContract : public testing::Test {
 protected:
  /// `choice` is as for --device.
  void open(const std::string& choice) {
    device_ = open_test_device(choice);
    stream_ = std::move(device_->create_stream()).value();
    program_ = std::move(device_->build({"empty", {}})).value();
    increment_ = program_->kernel("increment").value();
    counter_ = std::move(device_->allocate(sizeof(unsigned), MemoryKind::device)).value();
    ASSERT_TRUE(stream_->fill(counter_.data(), 0, sizeof(unsigned)));
    ASSERT_TRUE(stream_->synchronize());
  }

  /// Returns how often the kernel has run; waits for `stream_`.
  unsigned count() { return read_back<unsigned>(*stream_, counter_.data(), 1).value().front(); }

  void a_wait_holds_the_other_stream_back() {
    auto gate = std::move(Gate::create(*device_)).value();
    auto other = std::move(device_->create_stream(StreamPriority::high)).value();
    auto event = std::move(device_->create_event()).value();
    auto ran = std::move(device_->create_event()).value();
    ASSERT_TRUE(gate.close(*stream_));
    ASSERT_TRUE(stream_->record(*event));
    ASSERT_TRUE(other->wait(*event));
    ASSERT_TRUE(launch(*other, *increment_, {}, counter_.as<unsigned>()));
    ASSERT_TRUE(other->record(*ran));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(event->done().value());
    EXPECT_FALSE(ran->done().value());
    gate.open();
    ASSERT_TRUE(other->synchronize());
    EXPECT_EQ(count(), 1u);
    EXPECT_FALSE(gate.gave_up());
  }

  void a_gate_that_nobody_opens_gives_up_after_a_second() {
    auto gate = std::move(Gate::create(*device_)).value();
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(gate.close(*stream_));
    ASSERT_TRUE(stream_->synchronize());
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(gate.gave_up());
    EXPECT_GT(waited.count(), 0.9);
    EXPECT_LT(waited.count(), 60);
  }

  /// Records events around a gate that is closed for `milliseconds`; their times may differ from
  /// the host's clock by `tolerance` seconds.
  void events_agree_with_the_host_clock(int milliseconds, double tolerance) {
    auto gate = std::move(Gate::create(*device_)).value();
    auto start = std::move(device_->create_event()).value();
    auto stop = std::move(device_->create_event()).value();
    EXPECT_FALSE(stop->seconds_since(*start));
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(stream_->record(*start));
    ASSERT_TRUE(gate.close(*stream_));
    ASSERT_TRUE(stream_->record(*stop));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    gate.open();
    ASSERT_TRUE(stop->synchronize());
    const std::chrono::duration<double> host = std::chrono::steady_clock::now() - begin;
    EXPECT_NEAR(stop->seconds_since(*start).value(), host.count(), tolerance);
  }

  void a_graph_replays_two_streams_in_order() {
    auto other = std::move(device_->create_stream()).value();
    auto fork = std::move(device_->create_event()).value();
    auto join = std::move(device_->create_event()).value();
    ASSERT_TRUE(stream_->begin_capture());
    ASSERT_TRUE(launch(*stream_, *increment_, {}, counter_.as<unsigned>()));
    ASSERT_TRUE(stream_->record(*fork));
    ASSERT_TRUE(other->wait(*fork));
    ASSERT_TRUE(launch(*other, *increment_, {}, counter_.as<unsigned>()));
    ASSERT_TRUE(other->record(*join));
    ASSERT_TRUE(stream_->wait(*join));
    auto graph = stream_->end_capture();
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(count(), 0u) << "capturing must not run anything";
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream_->launch(**graph));
    EXPECT_EQ(count(), 6u);
    ASSERT_TRUE(launch(*other, *increment_, {}, counter_.as<unsigned>()));
    ASSERT_TRUE(other->synchronize());
    EXPECT_EQ(count(), 7u) << "the joined stream is no longer capturing";
  }

  /// Captures `launches` launches of the kernel, each of which increments the counter at `at`.
  void capture_increments(int launches, unsigned* at) {
    ASSERT_TRUE(stream_->begin_capture());
    for (int i = 0; i < launches; ++i) ASSERT_TRUE(launch(*stream_, *increment_, {}, at));
  }

  void a_graph_takes_a_new_capture(bool uploads = true) {
    const Buffer both =
        std::move(device_->allocate(2 * sizeof(unsigned), MemoryKind::device)).value();
    unsigned *const first = both.as<unsigned>(), *const second = first + 1;
    ASSERT_TRUE(stream_->fill(first, 0, both.bytes()));
    const auto counts = [&] { return read_back<unsigned>(*stream_, first, 2).value(); };
    capture_increments(2, first);
    auto graph = stream_->end_capture();
    ASSERT_TRUE(graph) << graph.error().message;
    const Status uploaded = stream_->upload(**graph);
    if (uploads) {
      ASSERT_TRUE(uploaded) << uploaded.error().message;
    } else {
      ASSERT_FALSE(uploaded);
      EXPECT_EQ(uploaded.error().kind, ErrorKind::unsupported);
      EXPECT_THAT(uploaded.error().message, testing::HasSubstr("uploading a graph"));
    }
    ASSERT_TRUE(stream_->launch(**graph));
    EXPECT_THAT(counts(), testing::ElementsAre(2, 0));
    capture_increments(2, second);
    const auto updated = stream_->end_capture_into(**graph);
    ASSERT_TRUE(updated) << updated.error().message;
    EXPECT_EQ(*updated, GraphUpdate::in_place);
    EXPECT_THAT(counts(), testing::ElementsAre(2, 0)) << "an update must not run anything";
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(stream_->launch(**graph));
    EXPECT_THAT(counts(), testing::ElementsAre(2, 4));
    capture_increments(3, second);
    const auto rebuilt = stream_->end_capture_into(**graph);
    ASSERT_TRUE(rebuilt) << rebuilt.error().message;
    EXPECT_EQ(*rebuilt, GraphUpdate::rebuilt);
    ASSERT_TRUE(stream_->launch(**graph));
    EXPECT_THAT(counts(), testing::ElementsAre(2, 7));
    EXPECT_FALSE(stream_->end_capture_into(**graph)) << "nothing was captured";
  }

  /// The device may round its times by `rounding` seconds.
  void events_in_a_graph_have_the_times_of_each_replay(double rounding) {
    std::vector<std::unique_ptr<Event>> inside, outside;
    for (int i = 0; i < 3; ++i) {
      inside.push_back(std::move(device_->create_event()).value());
      outside.push_back(std::move(device_->create_event()).value());
    }
    const Status early = stream_->record_each_replay(*inside[0]);
    ASSERT_FALSE(early);
    EXPECT_THAT(early.error().message, testing::HasSubstr("record_each_replay()"));
    ASSERT_TRUE(stream_->begin_capture());
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const Status recorded = stream_->record_each_replay(*inside[i]);
      ASSERT_TRUE(recorded) << recorded.error().message;
      for (std::size_t n = 0; i + 1 < inside.size() && n < 8 * (i + 1); ++n) {
        ASSERT_TRUE(launch(*stream_, *increment_, {}, counter_.as<unsigned>()));
      }
    }
    auto graph = stream_->end_capture();
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_FALSE(inside[1]->seconds_since(*inside[0])) << "nothing was replayed yet";
    for (int replay = 0; replay < 3; ++replay) {
      ASSERT_TRUE(stream_->record(*outside[0]));
      ASSERT_TRUE(stream_->launch(**graph));
      ASSERT_TRUE(stream_->record(*outside[1]));
      ASSERT_TRUE(stream_->synchronize());
      const auto since = [](const auto& later, const auto& sooner) {
        const auto seconds = later->seconds_since(*sooner);
        EXPECT_TRUE(seconds) << seconds.error().message;
        return seconds ? *seconds : -1;
      };
      const double before = since(inside[0], outside[0]), first = since(inside[1], inside[0]);
      const double second = since(inside[2], inside[1]), after = since(outside[1], inside[2]);
      EXPECT_GE(before, -rounding) << "a time of an earlier replay";
      EXPECT_GT(first, 0);
      EXPECT_GT(second, 0);
      EXPECT_GE(after, -rounding);
      EXPECT_LE(first + second, since(outside[1], outside[0]) + rounding);
      EXPECT_TRUE(inside[2]->done().value());
    }
    EXPECT_EQ(count(), 3u * 24u);
  }

  void an_untimed_event_orders_and_has_no_time() {
    auto other = std::move(device_->create_stream()).value();
    auto untimed = std::move(device_->create_event(EventKind::untimed)).value();
    auto timed = std::move(device_->create_event()).value();
    ASSERT_TRUE(launch(*stream_, *increment_, {}, counter_.as<unsigned>()));
    ASSERT_TRUE(stream_->record(*untimed));
    ASSERT_TRUE(other->wait(*untimed));
    ASSERT_TRUE(launch(*other, *increment_, {}, counter_.as<unsigned>()));
    ASSERT_TRUE(other->record(*timed));
    ASSERT_TRUE(timed->synchronize());
    EXPECT_TRUE(untimed->done().value());
    EXPECT_EQ(count(), 2u);
    for (const auto& seconds : {timed->seconds_since(*untimed), untimed->seconds_since(*timed)}) {
      ASSERT_FALSE(seconds);
      EXPECT_THAT(seconds.error().message, testing::HasSubstr("untimed"));
    }
  }

  /// Runs a chain of single-threaded kernels that each work for `ticks` of the device's clock:
  /// launched as programmatic, then replayed from a graph. `one_clock` is whether all kernels read
  /// the same clock, which an emulator's kernels do not.
  void programmatic_launches_keep_their_order(std::uint64_t ticks, bool one_clock = true) {
    constexpr std::size_t links = 6;
    auto program = std::move(device_->build({"launch_attributes", {}})).value();
    Kernel& relay = *program->kernel("relay").value();
    const Buffer values =
        std::move(device_->allocate((links + 1) * sizeof(unsigned), MemoryKind::device)).value();
    const Buffer times =
        std::move(device_->allocate(2 * links * sizeof(std::uint64_t), MemoryKind::device)).value();
    const auto clear = [&] {
      ASSERT_TRUE(stream_->fill(values.data(), 0, values.bytes()));
      ASSERT_TRUE(stream_->fill(times.data(), 0, times.bytes()));
    };
    const auto launch_all = [&] {
      for (std::size_t i = 0; i < links; ++i) {
        unsigned* const from = values.as<unsigned>() + i;
        const Status launched = launch(*stream_, relay, {}, {.programmatic = true}, from + 1, from,
                                       ticks, times.as<std::uint64_t>() + 2 * i);
        ASSERT_TRUE(launched) << launched.error().message;
      }
    };
    const auto check = [&] {
      std::vector<unsigned> expected(links + 1);
      std::iota(expected.begin(), expected.end(), 0u);
      EXPECT_EQ(read_back<unsigned>(*stream_, values.data(), links + 1).value(), expected);
      const auto moments = read_back<std::uint64_t>(*stream_, times.data(), 2 * links).value();
      for (std::size_t i = 0; one_clock && i + 1 < links; ++i) {
        EXPECT_GE(moments[2 * i + 3], moments[2 * i + 1] + ticks) << i << " was overtaken";
      }
    };
    clear();
    launch_all();
    check();
    clear();
    ASSERT_TRUE(stream_->begin_capture());
    launch_all();
    auto graph = stream_->end_capture();
    ASSERT_TRUE(graph) << graph.error().message;
    ASSERT_TRUE(stream_->launch(**graph));
    check();
  }

  void clusters_are_refused() {
    const Status refused =
        launch(*stream_, *increment_, {{2}, {1}}, {.cluster = {2}}, counter_.as<unsigned>());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("no clusters of blocks"));
    ASSERT_TRUE(launch(*stream_, *increment_, {}, {.cluster = {1, 1, 1}}, counter_.as<unsigned>()));
    EXPECT_EQ(count(), 1u) << "one block is no cluster, and what was refused did not run";
  }

  void tensor_maps_are_refused() {
    const auto map = device_->tensor_map({counter_.data(), DataType::u32, {{4, 4}}});
    ASSERT_FALSE(map);
    EXPECT_EQ(map.error().kind, ErrorKind::unsupported);
    EXPECT_THAT(map.error().message, testing::HasSubstr("no tensor memory accelerator"));
  }

  void more_memory_than_there_is_is_refused() {
    const auto buffer = device_->allocate(std::size_t{1} << 50, MemoryKind::device);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().kind, ErrorKind::exhausted);
    ASSERT_TRUE(launch(*stream_, *increment_, {}, counter_.as<unsigned>()));
    EXPECT_EQ(count(), 1u) << "the device lives on";
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Program> program_;
  Kernel* increment_ = nullptr;
  Buffer counter_;
};

}  // namespace assay
