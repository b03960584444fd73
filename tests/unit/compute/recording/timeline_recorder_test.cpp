#include "compute/recording/timeline_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compute/device/backend.h"
#include "compute/device/helpers.h"
#include "ranks/collective/recorded_communicator.h"
#include "support/thread_communicator.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The CPU, recorded.
class RecordedCpu : public testing::Test {
 protected:
  void SetUp() override {
    backends_ = make_backends();
    auto opened = open_device(backends_, "cpu");
    ASSERT_TRUE(opened.ok());
    cpu_ = std::move(*opened);
    recorder_.emplace(*cpu_, "0");
    device_ = recorded_device(*cpu_, *recorder_);
    stream_ = device_->create_stream().value();
    memory_ = device_->allocate(4096, MemoryKind::device).value();
    program_ = device_->build({"empty", {}}).value();
    increment_ = program_->kernel("increment").value();
  }

  void begin_step() {
    ASSERT_TRUE(recorder_->find_origin(*stream_).ok());
    recorder_->begin_step("ProfilerStep#1");
  }
  Status fill() { return stream_->fill(memory_.data(), 0, 4096); }
  Status launch_increment() {
    return launch(*stream_, *increment_, LaunchShape{{1}, {1}}, memory_.as<unsigned>());
  }
  std::vector<std::string> names(const Timeline& timeline, TraceEventKind kind) {
    std::vector<std::string> found;
    for (const TraceEvent& event : timeline.events()) {
      if (event.kind == kind) found.emplace_back(timeline.text(event.name));
    }
    return found;
  }

  std::vector<std::unique_ptr<Backend>> backends_;
  std::unique_ptr<Device> cpu_;
  std::optional<TimelineRecorder> recorder_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  Buffer memory_;
  std::unique_ptr<Program> program_;
  Kernel* increment_ = nullptr;
};

TEST_F(RecordedCpu, OperationsOfAStepAreInOrderWithTheirLaunches) {
  ASSERT_TRUE(fill().ok());  // before the step
  begin_step();
  ASSERT_TRUE(fill().ok());
  ASSERT_TRUE(launch_increment().ok());
  stream_->end_part("forward", "count");
  ASSERT_TRUE(stream_->synchronize().ok());
  ASSERT_TRUE(recorder_->end_step().ok());
  ASSERT_TRUE(fill().ok());  // after it
  const Timeline timeline = recorder_->take();
  EXPECT_THAT(names(timeline, TraceEventKind::fill), ElementsAre("Memset"));
  EXPECT_THAT(names(timeline, TraceEventKind::kernel), ElementsAre("increment"));
  EXPECT_THAT(names(timeline, TraceEventKind::call),
              ElementsAre("Fill", "LaunchKernel", "StreamSynchronize"));
  EXPECT_THAT(names(timeline, TraceEventKind::gpu_annotation), ElementsAre("forward count"));
  const auto find = [&](TraceEventKind kind, std::string_view name) {
    for (const TraceEvent& event : timeline.events()) {
      if (event.kind == kind && timeline.text(event.name) == name) return event;
    }
    return TraceEvent();
  };
  const TraceEvent set = find(TraceEventKind::fill, "Memset");
  const TraceEvent kernel = find(TraceEventKind::kernel, "increment");
  const TraceEvent call = find(TraceEventKind::call, "LaunchKernel");
  const TraceEvent step = find(TraceEventKind::annotation, "ProfilerStep#1");
  const TraceEvent part = find(TraceEventKind::gpu_annotation, "forward count");
  EXPECT_EQ(kernel.correlation, call.correlation);
  EXPECT_NE(kernel.correlation, set.correlation);
  EXPECT_LE(set.end(), kernel.start);
  EXPECT_LE(call.start, kernel.start) << "a kernel begins after its launch";
  EXPECT_LE(step.start, set.start);
  EXPECT_GE(step.end(), kernel.end()) << "on one clock";
  EXPECT_EQ(part.start, set.start);
  EXPECT_EQ(part.end(), kernel.end());
  EXPECT_EQ(timeline.detail(set.detail).bytes, 4096u);
}

TEST_F(RecordedCpu, OperationsOfAGraphAreThoseOfEachReplay) {
  const auto graph = captured(*stream_, [&]() -> Status {
    TRY(fill());
    return launch_increment();
  });
  ASSERT_TRUE(graph.ok());
  begin_step();
  ASSERT_TRUE(stream_->launch(**graph).ok());
  ASSERT_TRUE(stream_->launch(**graph).ok());
  ASSERT_TRUE(stream_->synchronize().ok());
  ASSERT_TRUE(recorder_->end_step().ok());
  EXPECT_EQ(read_back<unsigned>(*stream_, memory_.data(), 1).value().front(), 1u)
      << "recording changes no result";
  const Timeline timeline = recorder_->take();
  EXPECT_THAT(names(timeline, TraceEventKind::kernel), ElementsAre("increment", "increment"));
  EXPECT_THAT(names(timeline, TraceEventKind::fill), ElementsAre("Memset", "Memset"));
  std::vector<std::uint64_t> launches, kernels;
  std::int64_t last_end = 0;
  for (const TraceEvent& event : timeline.events()) {
    if (event.kind == TraceEventKind::call && timeline.text(event.name) == "GraphLaunch") {
      launches.push_back(event.correlation);
    }
    if (event.kind == TraceEventKind::kernel) kernels.push_back(event.correlation);
    if (!is_gpu_work(event.kind)) continue;
    EXPECT_GE(event.start, last_end);
    last_end = event.end();
  }
  EXPECT_EQ(kernels, launches);
  EXPECT_EQ(timeline.notes().size(), 1u) << "the recorder waited between the replays";
}

TEST_F(RecordedCpu, WhatLeadsInIsNoPartOfTheStep) {
  const auto graph = captured(*stream_, [&] { return launch_increment(); });
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(recorder_->find_origin(*stream_).ok());
  ASSERT_TRUE(fill().ok());
  ASSERT_TRUE(stream_->launch(**graph).ok());
  recorder_->begin_step("ProfilerStep#1");
  ASSERT_TRUE(stream_->launch(**graph).ok());
  ASSERT_TRUE(stream_->synchronize().ok());
  ASSERT_TRUE(recorder_->end_step().ok());
  const Timeline timeline = recorder_->take();
  EXPECT_THAT(names(timeline, TraceEventKind::kernel), ElementsAre("increment"));
  EXPECT_THAT(names(timeline, TraceEventKind::fill), IsEmpty());
  EXPECT_THAT(timeline.notes(), IsEmpty());
}

TEST_F(RecordedCpu, AnOperationOfSeveralKernelsIsOneEvent) {
  begin_step();
  const auto describe = [] {
    QueuedOperation operation;
    operation.name = "all_reduce f32";
    operation.collective = "all_reduce";
    operation.types = "f32";
    operation.sent = operation.received = 1024;
    operation.ranks = 2;
    operation.bus_bytes = 4096;
    return operation;
  };
  ASSERT_TRUE(queue_operation(*stream_, describe, [&]() -> Status {
                TRY(fill());
                return launch_increment();
              }).ok());
  ASSERT_TRUE(recorder_->end_step().ok());
  const Timeline timeline = recorder_->take();
  EXPECT_THAT(names(timeline, TraceEventKind::kernel), ElementsAre("all_reduce f32"));
  EXPECT_THAT(names(timeline, TraceEventKind::fill), IsEmpty());
  for (const TraceEvent& event : timeline.events()) {
    if (event.kind != TraceEventKind::kernel) continue;
    const EventDetail& detail = timeline.detail(event.detail);
    EXPECT_EQ(detail.group_size, 2u);
    EXPECT_EQ(detail.bus_bytes, 4096u);
  }
}

TEST_F(RecordedCpu, AGroupOfCollectivesIsOneOperationWithTheSizesOfAll) {
  Meeting meeting(1);
  meeting.queues = true;
  const auto communicator = recorded_on(*device_, std::make_unique<ThreadCommunicator>(meeting, 0));
  CollectiveCall call;
  call.operation = CollectiveOperation::reduce_scatter;
  call.send = call.receive = memory_.data();
  begin_step();
  ASSERT_TRUE(communicator->begin_group().ok());
  for (const std::size_t count : {100, 20, 3}) {
    call.count = count;
    ASSERT_TRUE(communicator->enqueue(call, *stream_).ok());
  }
  ASSERT_TRUE(communicator->end_group().ok());
  call.count = 7;
  ASSERT_TRUE(communicator->enqueue(call, *stream_).ok());
  ASSERT_TRUE(recorder_->end_step().ok());
  const Timeline timeline = recorder_->take();
  std::vector<std::uint64_t> elements, bytes;
  for (const TraceEvent& event : timeline.events()) {
    if (event.kind != TraceEventKind::kernel) continue;
    elements.push_back(timeline.detail(event.detail).elements_out);
    bytes.push_back(timeline.detail(event.detail).bytes);
  }
  EXPECT_THAT(elements, ElementsAre(123u, 7u));
  EXPECT_THAT(bytes, ElementsAre(492u, 28u));
}

TEST_F(RecordedCpu, WhatALibraryQueuesOnTheNativeHandleIsOneOperation) {
  begin_step();
  stream_->native_handle();
  ASSERT_TRUE(launch_increment().ok());
  ASSERT_TRUE(recorder_->end_step().ok());
  EXPECT_THAT(names(recorder_->take(), TraceEventKind::kernel),
              ElementsAre("library", "increment"));
}

}  // namespace
}  // namespace assay
