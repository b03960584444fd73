// What streams, events, gates and graphs promise on every device; the tests of each backend run it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "compute/device/helpers.h"
#include "measure/sampling/gate.h"
#include "test_device.h"

namespace assay {

class DeviceContract : public testing::Test {
 protected:
  /// `choice` as --device has it.
  void open(const std::string& choice) {
    device_ = open_test_device(choice);
    stream_ = std::move(device_->create_stream()).value();
    program_ = std::move(device_->build({"empty", {}})).value();
    increment_ = program_->kernel("increment").value();
    counter_ = std::move(device_->allocate(sizeof(unsigned), MemoryKind::device)).value();
    ASSERT_TRUE(stream_->fill(counter_.data(), 0, sizeof(unsigned)));
    ASSERT_TRUE(stream_->synchronize());
  }

  /// How often the kernel has run; waits for `stream_`.
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

  /// The events stand around a gate that is closed for `milliseconds`; they may differ from the
  /// host's clock by `tolerance` seconds.
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
