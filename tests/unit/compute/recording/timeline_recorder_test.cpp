#include "compute/recording/timeline_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

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

TEST_F(RecordedCpu, WhatALibraryQueuesLastInAStepIsInThatStep) {
  begin_step();
  ASSERT_TRUE(launch_increment().ok());
  stream_->native_handle();
  ASSERT_TRUE(recorder_->end_step().ok());
  EXPECT_THAT(names(recorder_->take(), TraceEventKind::kernel),
              ElementsAre("increment", "library"));
  ASSERT_TRUE(launch_increment().ok());
  EXPECT_THAT(names(recorder_->take(), TraceEventKind::kernel), IsEmpty());
}

/// Notes the tags it is given, and says that the device did what a test sets.
class ScriptedTracer final : public ActivityTracer {
 public:
  std::string name() const override { return "script 1.0"; }
  Status tag(std::uint64_t number) override {
    current = number;
    if (number != 0) tags.push_back(number);
    return {};
  }
  Status start() override {
    ++starts;
    return {};
  }
  Result<std::vector<DeviceActivity>> stop() override { return std::exchange(activities, {}); }

  void add_kernel(const char* name, std::int64_t begin, std::int64_t end, std::uint64_t call,
                  std::uint64_t node = 0) {
    DeviceActivity kernel;
    kernel.name = name;
    kernel.begin = begin;
    kernel.end = end;
    kernel.grid = {7, 1, 1};
    kernel.call_tag = call;
    kernel.node_tag = node;
    activities.push_back(kernel);
  }

  std::vector<std::uint64_t> tags;
  std::uint64_t current = 0;
  int starts = 0;
  std::vector<DeviceActivity> activities;
};

class TracedCpu : public RecordedCpu {
 protected:
  void SetUp() override {
    RecordedCpu::SetUp();
    stream_.reset();
    recorder_.emplace(*cpu_, "0", &tracer_);
    stream_ = device_->create_stream().value();
  }
  void end_step(Timeline& timeline) {
    ASSERT_TRUE(stream_->synchronize().ok());
    ASSERT_TRUE(recorder_->end_step().ok());
    EXPECT_EQ(tracer_.current, 0u) << "what follows is no operation's";
    timeline = recorder_->take();
  }

  ScriptedTracer tracer_;
};

TEST_F(TracedCpu, KernelsOfAnOperationKnowItOnce) {
  begin_step();
  EXPECT_EQ(tracer_.starts, 1);
  const auto describe = [] {
    QueuedOperation product;
    product.name = "gemm m=64";
    product.flops = 1e6;
    product.shapes = "[[64,128],[128,32]]";
    return product;
  };
  ASSERT_TRUE(queue_operation(*stream_, describe, [&]() -> Status {
                TRY(fill());
                return launch_increment();
              }).ok());
  ASSERT_TRUE(launch_increment().ok());
  stream_->end_part("forward", "count");
  ASSERT_EQ(tracer_.tags.size(), 2u);
  tracer_.add_kernel("before the step", 50, 60, 0);
  tracer_.add_kernel("tile", 100, 300, tracer_.tags[0]);
  tracer_.add_kernel("reduce", 290, 310, tracer_.tags[0]);
  tracer_.add_kernel("increment", 320, 330, tracer_.tags[1]);
  Timeline timeline;
  end_step(timeline);
  EXPECT_EQ(timeline.format, "script 1.0");
  EXPECT_DOUBLE_EQ(recorder_->device_seconds(), 230e-9);
  EXPECT_THAT(names(timeline, TraceEventKind::kernel), ElementsAre("tile", "reduce", "increment"));
  for (const TraceEvent& event : timeline.events()) {
    const std::string_view name = timeline.text(event.name);
    const EventDetail& detail = timeline.detail(event.detail);
    if (event.kind == TraceEventKind::gpu_annotation) {
      EXPECT_EQ(name, "forward count");
      EXPECT_EQ(event.start, 100);
      EXPECT_EQ(event.end(), 330);
    }
    if (event.kind != TraceEventKind::kernel) continue;
    EXPECT_EQ(detail.flops, name == "tile" ? 1'000'000u : 0u);
    EXPECT_EQ(timeline.text(detail.shapes).empty(), name != "tile");
    EXPECT_EQ(detail.grid[0], 7u);
    EXPECT_EQ(event.correlation, tracer_.tags[name == "increment" ? 1 : 0]);
    if (name == "reduce") EXPECT_EQ(event.start, 300) << "from the end of the one before it";
  }
}

TEST_F(TracedCpu, AnUpdatedGraphTellsTheDetailsOfItsLastCapture) {
  const auto queue_product = [&](double flops) {
    const auto describe = [&] {
      QueuedOperation product;
      product.name = "gemm m=64";
      product.flops = flops;
      return product;
    };
    return queue_operation(*stream_, describe, [&] { return launch_increment(); });
  };
  const auto graph = captured(*stream_, [&] { return queue_product(1e6); });
  ASSERT_TRUE(graph.ok());
  for (const double flops : {2e6, 3e6}) {
    ASSERT_TRUE(stream_->begin_capture().ok());
    ASSERT_TRUE(queue_product(flops).ok());
    const auto updated = stream_->end_capture_into(**graph);
    ASSERT_TRUE(updated.ok()) << updated.error().message;
    EXPECT_EQ(*updated, GraphUpdate::in_place);
  }
  begin_step();
  ASSERT_TRUE(stream_->launch(**graph).ok());
  // The graph's node is the one that was captured first.
  tracer_.add_kernel("tile", 1000, 1010, tracer_.tags.back(), tracer_.tags.front());
  Timeline timeline;
  end_step(timeline);
  ASSERT_THAT(names(timeline, TraceEventKind::kernel), ElementsAre("tile"));
  for (const TraceEvent& event : timeline.events()) {
    if (event.kind != TraceEventKind::kernel) continue;
    EXPECT_EQ(timeline.detail(event.detail).flops, 3'000'000u);
  }
}

TEST_F(TracedCpu, KernelsOfAGraphBelongToItsReplayAndToWhatWasCaptured) {
  const auto graph = captured(*stream_, [&]() -> Status {
    TRY(fill());
    return launch_increment();
  });
  ASSERT_TRUE(graph.ok());
  begin_step();
  ASSERT_TRUE(stream_->launch(**graph).ok());
  ASSERT_TRUE(stream_->launch(**graph).ok());
  ASSERT_EQ(tracer_.tags.size(), 4u);
  const std::uint64_t of_fill = tracer_.tags[0], of_kernel = tracer_.tags[1];
  std::int64_t at = 1000;
  for (const std::uint64_t replay : {tracer_.tags[2], tracer_.tags[3]}) {
    DeviceActivity set;
    set.kind = TraceEventKind::fill;
    set.begin = at;
    set.end = at + 5;
    set.bytes = 4096;
    set.call_tag = replay;
    set.node_tag = of_fill;
    tracer_.activities.push_back(set);
    tracer_.add_kernel("increment", at + 10, at + 20, replay, of_kernel);
    tracer_.add_kernel("of nobody", at + 30, at + 40, replay);
    at += 100;
  }
  Timeline timeline;
  end_step(timeline);
  EXPECT_THAT(names(timeline, TraceEventKind::kernel),
              ElementsAre("increment", "of nobody", "increment", "of nobody"));
  EXPECT_THAT(names(timeline, TraceEventKind::fill), ElementsAre("Memset", "Memset"));
  EXPECT_THAT(timeline.notes(), IsEmpty()) << "it waits for no replay";
  std::set<std::uint64_t> launches, work;
  for (const TraceEvent& event : timeline.events()) {
    if (event.kind == TraceEventKind::call && timeline.text(event.name) == "GraphLaunch") {
      launches.insert(event.correlation);
    }
    if (is_gpu_work(event.kind)) {
      work.insert(event.correlation);
      EXPECT_TRUE(timeline.lane(event.lane).gpu);
    }
  }
  EXPECT_EQ(work, launches);
  EXPECT_EQ(launches.size(), 2u);
}

}  // namespace
}  // namespace assay
