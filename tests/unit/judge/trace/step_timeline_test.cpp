#include "judge/trace/step_timeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/trace_text.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A step of the host that launches one kernel, which runs `dur` us from `ts`.
std::string step_with_kernel(int number, int ts, int dur) {
  return fmt::format(
             R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":9,"tid":1,)"
             R"("ts":{},"dur":90}},{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel",)"
             R"("pid":9,"tid":1,"ts":{},"dur":1,"args":{{"correlation":{}}}}},)",
             number, ts, ts + 1, number) +
         gpu_event("kernel", "my_gemm", std::to_string(ts + 2), std::to_string(dur),
                   fmt::format("\"correlation\":{}", number));
}

/// Traces that were read, and what was found in them.
struct Read {
  std::vector<Timeline> timelines;
  std::vector<TraceIndex> indices;
  std::vector<TraceReport> reports;
  explicit Read(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) timelines.push_back(timeline_of(text));
    for (const Timeline& timeline : timelines) indices.emplace_back(timeline);
    for (const TraceIndex& index : indices) reports.push_back(report_trace(index));
  }
  ShownStep step(const std::string& wanted = "") const {
    return choose_step(indices, reports, wanted).value();
  }
};

Read three_steps() {
  return Read({kineto_text(step_with_kernel(1, 0, 30) + "," + step_with_kernel(2, 100, 80) + "," +
                           step_with_kernel(3, 200, 50))});
}

TEST(ShownStep, IsTheMedianUnlessOneIsWanted) {
  const Read read = three_steps();
  // To the next step 100 us each, and 50 us of the last one.
  EXPECT_EQ(read.step().name, "ProfilerStep#1");
  EXPECT_EQ(read.step("3").name, "ProfilerStep#3");
  EXPECT_EQ(read.step("3").gpus.at(0).times.span, 50'000);
  const ShownStep named = read.step("ProfilerStep#2");
  EXPECT_EQ(named.number, 2u);
  EXPECT_EQ(named.all, 3u);
  ASSERT_EQ(named.gpus.size(), 1u);
  EXPECT_EQ(named.gpus[0].window, (TimeRange{102'000, 202'000}));
  EXPECT_EQ(work_of(named.gpus[0]).size(), 1u);
  const auto none = choose_step(read.indices, read.reports, "4");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("no step 4; allowed are 1 to 3"));
}

TEST(ShownStep, IsTheWholeTraceIfItNamesNone) {
  const Read read({kineto_text(gpu_event("kernel", "my_gemm", "5", "10"))});
  const ShownStep step = read.step();
  EXPECT_EQ(step.name, "");
  EXPECT_EQ(step.gpus.at(0).window, (TimeRange{5'000, 15'000}));
  EXPECT_THAT(choose_step(read.indices, read.reports, "1").error().message,
              HasSubstr("names no steps"));
}

TEST(ShownStep, CountsGpusWithoutIt) {
  const Read read(
      {kineto_text(step_with_kernel(1, 0, 30)), kineto_text(step_with_kernel(2, 0, 30))});
  EXPECT_EQ(read.step().gpus.size(), 1u);
  EXPECT_EQ(read.step().without, 1u);
}

TEST(StepTimeline, HasLanesOfTheHostStreamsCollectivesAndCopies) {
  const Read read({kineto_text(
      R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":4,"ts":0,"dur":30},)"
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":4,"ts":9,"dur":2},)" +
      gpu_event("kernel", "my_gemm", "10", "10", "", "7") + "," +
      gpu_event("kernel", "softmax", "15", "10", "", "20") + "," +
      gpu_event("kernel", "ncclDevKernel_AllReduce_RING_LL", "8", "12", "", "9") + "," +
      gpu_event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "30", "3", "", "7"))});
  const StepTimeline timeline = step_timeline(read.step(), 100);
  std::vector<std::string> lanes;
  for (const TimelineRow& row : timeline.rows) {
    lanes.push_back(fmt::format("{}: {} {}", row.group, row.lane, row.row));
  }
  EXPECT_THAT(lanes, ElementsAre("host: thread 4 0", "host: thread 4 1", "GPU 0: stream 7 0",
                                 "GPU 0: stream 20 0", "GPU 0: collectives 0", "GPU 0: copies 0"));
  EXPECT_EQ(timeline.length, 25'000);
  EXPECT_EQ(timeline.rows[0].blocks.at(0).range, (TimeRange{0, 22'000})) << "cut at the begin";
  EXPECT_EQ(timeline.rows[0].blocks[0].longest, 30'000);
  EXPECT_EQ(timeline.rows[1].blocks.at(0).range, (TimeRange{1'000, 3'000})) << "nested";
}

/// An operation of the host of 20 us in a step of 50 us.
std::string step_of_host(int number, int ts) {
  return fmt::format(
      R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":9,"tid":4,"ts":{},)"
      R"("dur":50}},{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":4,"ts":{},)"
      R"("dur":20}})",
      number, ts, ts + 10);
}

TEST(StepTimeline, WithoutWorkOfAGpuItHasLanesOfTheHost) {
  const Read read({kineto_text(step_of_host(1, 0) + "," + step_of_host(2, 100))});
  const ShownStep step = read.step("2");
  EXPECT_EQ(step.name, "ProfilerStep#2");
  EXPECT_TRUE(step.gpus.empty());
  ASSERT_EQ(step.hosts.size(), 1u);
  EXPECT_EQ(step.hosts[0].window, (TimeRange{100'000, 150'000}));
  const StepTimeline timeline = step_timeline(step, 100);
  EXPECT_EQ(timeline.length, 50'000);
  ASSERT_EQ(timeline.rows.size(), 2u);
  EXPECT_EQ(timeline.rows[1].group, "host");
  EXPECT_EQ(timeline.rows[1].lane, "thread 4");
  EXPECT_EQ(timeline.rows[1].blocks.at(0).range, (TimeRange{10'000, 30'000}));
  EXPECT_EQ(timeline.rows[1].blocks[0].name, "aten::mm");
}

TEST(StepTimeline, HostsOfSeveralTracesHaveGroupsOfTheirOwn) {
  const Read read({kineto_text(step_of_host(1, 0)), kineto_text(step_of_host(2, 0)),
                   kineto_text(step_of_host(1, 700))});
  const ShownStep step = read.step();
  EXPECT_EQ(step.hosts.size(), 2u);
  EXPECT_EQ(step.without, 1u);
  const StepTimeline timeline = step_timeline(step, 100);
  ASSERT_EQ(timeline.drawn, 2u);
  EXPECT_EQ(timeline.rows.front().group, "rank 0, host");
  EXPECT_EQ(timeline.rows.back().group, "rank 2, host");
}

TEST(StepTimeline, MergesTheShortestNeighboursAndLosesNothing) {
  std::string events;
  constexpr int count = 5'000;
  for (int i = 0; i < count; ++i) {
    events += gpu_event("kernel", i == 7 ? "my_gemm" : "softmax", std::to_string(2 * i),
                        i == 7 ? "2" : "1") +
              ",";
  }
  // This kernel is alone on its stream, so that it has no neighbours to be merged with.
  events += gpu_event("kernel", "long_gemm", "0", "9000", "", "8");
  const Read read({kineto_text(events)});
  const StepTimeline timeline = step_timeline(read.step(), 100);
  std::size_t blocks = 0, merged_events = 0;
  std::int64_t busy = 0;
  for (const TimelineRow& row : timeline.rows) {
    blocks += row.blocks.size();
    for (const TimelineBlock& block : row.blocks) {
      merged_events += block.count;
      busy += block.busy;
      EXPECT_LE(block.busy, block.range.size());
      if (block.count > 1) EXPECT_LE(block.range.size(), timeline.merged);
    }
  }
  EXPECT_GT(blocks, 50u);
  EXPECT_LE(blocks, 100u);
  EXPECT_EQ(merged_events, count + 1u);
  EXPECT_EQ(timeline.events, count + 1u);
  EXPECT_EQ(busy, (count + 1) * 1'000 + 9'000'000);
  EXPECT_EQ(timeline.rows.at(0).blocks.at(0).name, "my_gemm") << "the longest of them";
  EXPECT_EQ(step_timeline(read.step(), count + 1).merged, 0) << "there is room for all";
}

TEST(StepTimeline, TracesWithoutASharedClockBeginTogether) {
  const auto text = [](int ts) { return kineto_text(step_with_kernel(1, ts, 30)); };
  const Read read({text(0), text(500)});
  const StepTimeline timeline = step_timeline(read.step(), 100);
  EXPECT_FALSE(timeline.one_clock);
  EXPECT_EQ(timeline.length, 30'000);
  for (const TimelineRow& row : timeline.rows) {
    if (row.lane == "stream 7") EXPECT_EQ(row.blocks.at(0).range, (TimeRange{0, 30'000}));
  }
  EXPECT_EQ(gpu_label(read.step(), read.step().gpus[1]), "rank 1, GPU 0");
}

}  // namespace
}  // namespace assay
