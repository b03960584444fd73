// Traces of PyTorch's profiler with what it and others get wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "support/trace_text.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::int64_t> starts_of(const Timeline& timeline) {
  std::vector<std::int64_t> starts;
  for (const TraceEvent& event : timeline.events()) starts.push_back(event.start);
  return starts;
}

TEST(KinetoTrace, TimesAreMicrosecondsWhateverTheUnitOfTheDisplay) {
  const std::string events = gpu_event("kernel", "k", "5001650443483.001", "2.5");
  for (const char* unit : {"ms", "ns"}) {
    const Timeline timeline = timeline_of(std::string("{\"displayTimeUnit\":\"") + unit +
                                          "\",\"traceEvents\":[" + events + "]}");
    ASSERT_THAT(timeline.notes(), IsEmpty());
    EXPECT_THAT(starts_of(timeline), ElementsAre(5001650443483001));
    EXPECT_EQ(timeline.events().front().duration, 2500);
  }
}

TEST(KinetoTrace, FactsOfTheTraceAreRead) {
  const Timeline timeline = timeline_of(
      R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H200","numSms":132},{"id":1,)"
      R"("name":"other"}],"distributedInfo":{"backend":"nccl","rank":3,"world_size":8,"pg_config":)"
      R"([{"pg_name":"0","rank":7}]},"baseTimeNanoseconds":1790857026000000000,"traceEvents":[]})");
  EXPECT_EQ(timeline.epoch, 1790857026000000000);
  EXPECT_EQ(timeline.rank, 3);
  EXPECT_EQ(timeline.world_size, 8);
  EXPECT_EQ(timeline.devices.at("0").name, "NVIDIA H200");
  EXPECT_EQ(timeline.devices.at("0").units, 132u);
  EXPECT_EQ(timeline.devices.at("1").units, 0u);
}

TEST(KinetoTrace, OnlyWorkOfTheGpuIsWork) {
  const Timeline timeline = timeline_of(kineto_text(
      gpu_event("kernel", "k", "1", "1") + "," + gpu_event("gpu_memcpy", "c", "2", "1") + "," +
      gpu_event("gpu_memset", "s", "3", "1") + "," +
      gpu_event("gpu_user_annotation", "a", "0", "9") + "," +
      gpu_event("cuda_sync", "Event Sync", "0", "9") + "," +
      gpu_event("python_function", "f", "0", "9") + "," +
      gpu_event("cuda_profiler_range", "r", "0", "9") + "," +
      gpu_event("overhead", "o", "0", "9")));
  std::size_t work = 0;
  for (const TraceEvent& event : timeline.events()) work += is_gpu_work(event.kind) ? 1 : 0;
  EXPECT_EQ(work, 3u);
  EXPECT_THAT(timeline.notes(), IsEmpty());
}

TEST(KinetoTrace, NamesOf2021AreUnderstood) {
  const Timeline timeline = timeline_of(
      "[" +
      gpu_event("Kernel", "k", "10", "5", R"("external id":7,"correlation":3)", R"("stream 7")") +
      "," + gpu_event("Memcpy", "c", "20", "5", "", R"("stream 8")") + "]");
  ASSERT_EQ(timeline.events().size(), 2u);
  EXPECT_EQ(timeline.events()[0].kind, TraceEventKind::kernel);
  EXPECT_EQ(timeline.events()[0].external, 7u);
  EXPECT_EQ(timeline.events()[0].correlation, 3u);
  EXPECT_EQ(timeline.events()[1].kind, TraceEventKind::copy);
  EXPECT_EQ(timeline.lanes().size(), 2u);
}

TEST(KinetoTrace, MembersMayComeInAnyOrder) {
  const Timeline timeline = timeline_of(kineto_text(
      R"({"args":{"correlation":5,"grid":[71680,2,1],"nested":{"grid":[9,9,9]},"bytes":64},)"
      R"("dur":3,"ts":2,"tid":1,"pid":0,"name":"k","cat":"kernel","ph":"X"})"));
  ASSERT_EQ(timeline.events().size(), 1u);
  const TraceEvent& event = timeline.events().front();
  EXPECT_EQ(event.correlation, 5u);
  EXPECT_THAT(timeline.detail(event.detail).grid, ElementsAre(71680u, 2u, 1u));
  EXPECT_EQ(timeline.detail(event.detail).bytes, 64u);
}

TEST(KinetoTrace, ShapesOfOperationsAreKept) {
  const Timeline timeline = timeline_of(kineto_text(
      R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":1,"args":)"
      R"({"External id":4,"Input Dims":[[2048,4096],[],[[1]]],"Input type":["c10::Half",""]}})"));
  const EventDetail& detail = timeline.detail(timeline.events().front().detail);
  EXPECT_EQ(timeline.text(detail.shapes), "[[2048,4096],[],[[1]]]");
  EXPECT_EQ(timeline.text(detail.types), "[c10::Half,]");
}

TEST(KinetoTrace, BeginAndEndNestOnEachThread) {
  const auto mark = [](const char* phase, const char* name, int time, int thread) {
    return std::string("{\"ph\":\"") + phase + "\",\"cat\":\"cpu_op\",\"name\":\"" + name +
           "\",\"pid\":1,\"tid\":" + std::to_string(thread) + ",\"ts\":" + std::to_string(time) +
           "}";
  };
  const Timeline timeline = timeline_of(kineto_text(
      mark("B", "outer", 1, 1) + "," + mark("B", "inner", 2, 1) + "," + mark("B", "left", 3, 2) +
      "," + mark("E", "", 4, 1) + "," + mark("E", "", 9, 1) + "," + mark("E", "", 9, 1)));
  ASSERT_EQ(timeline.events().size(), 2u);
  EXPECT_EQ(timeline.text(timeline.events()[0].name), "inner");
  EXPECT_EQ(timeline.events()[0].duration, 2000);
  EXPECT_EQ(timeline.events()[1].duration, 8000);
  EXPECT_THAT(timeline.notes(), ElementsAre("an event begins (B) and does not end (E)",
                                            "an event ends (E) that did not begin (B)"));
}

TEST(KinetoTrace, ImpossibleTimesAreNamed) {
  const Timeline timeline = timeline_of(kineto_text(
      gpu_event("kernel", "lost", "0", "0") + "," + gpu_event("kernel", "back", "5", "-2") + "," +
      gpu_event("kernel", "never", "\"x\"", "1") + "," + gpu_event("kernel", "late", "1e300", "1") +
      "," + gpu_event("kernel", "short", "7", "NaN")));
  EXPECT_THAT(starts_of(timeline), ElementsAre(5000, 7000));
  EXPECT_THAT(timeline.notes(),
              ElementsAre("an event has a negative duration, which counts as 0",
                          "an event has no duration or an impossible one, which counts as 0",
                          "an event has no time or an impossible one, and was left out (2 times)",
                          HasSubstr("the time 0, which CUPTI writes")));
}

TEST(KinetoTrace, AnEventThatEndsBeyondTheLatestTimeIsLeftOut) {
  const Timeline timeline =
      timeline_of(kineto_text(gpu_event("kernel", "far", "3900000000000000", "3900000000000000") +
                              "," + gpu_event("kernel", "k", "-3900000000000000", "1")));
  EXPECT_THAT(starts_of(timeline), ElementsAre(-3'900'000'000'000'000'000));
  EXPECT_THAT(timeline.notes(), ElementsAre(HasSubstr("impossible")));
}

TEST(KinetoTrace, AByteOrderMarkIsSkipped) {
  const Timeline timeline =
      timeline_of("\xef\xbb\xbf" + kineto_text(gpu_event("kernel", "k", "1", "1")));
  EXPECT_THAT(starts_of(timeline), ElementsAre(1000));
}

TEST(KinetoTrace, ACutFileIsReadUpToItsEnd) {
  const std::string whole =
      kineto_text(gpu_event("kernel", "a", "1", "1") + "," + gpu_event("kernel", "b", "2", "1"));
  const Timeline timeline = timeline_of(whole.substr(0, whole.size() - 20));
  EXPECT_THAT(starts_of(timeline), ElementsAre(1000));
  EXPECT_THAT(timeline.notes(), ElementsAre(HasSubstr("is cut off at byte")));
}

TEST(KinetoTrace, WhatIsNotJsonAnyMoreIsNamed) {
  const Timeline timeline =
      timeline_of(kineto_text(gpu_event("kernel", "a", "1", "1") + ",{\"ph\":garbage},") + "{}");
  EXPECT_THAT(starts_of(timeline), ElementsAre(1000));
  EXPECT_THAT(timeline.notes(), ElementsAre(HasSubstr("is no JSON from byte")));
  EXPECT_THAT(timeline_of(kineto_text("") + "{\"another\":1}").notes(),
              ElementsAre(HasSubstr("more text follows")));
}

TEST(KinetoTrace, NestingIsLimited) {
  const std::string deep = "{\"schemaVersion\":" + std::string(100'000, '[');
  EXPECT_THAT(timeline_of(deep).notes(), ElementsAre(HasSubstr("nested more than 64 levels")));
}

TEST(KinetoTrace, GzipIsReadInSeveralPartsAndUpToADamage) {
  const std::string text =
      kineto_text(gpu_event("kernel", "a", "1", "1") + "," + gpu_event("kernel", "b", "2", "1"));
  const auto compressed = [](std::string_view part) {
    std::string bytes(1000, '\0');
    z_stream stream{};
    EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(part.data()));
    stream.avail_in = static_cast<unsigned>(part.size());
    stream.next_out = reinterpret_cast<unsigned char*>(bytes.data());
    stream.avail_out = static_cast<unsigned>(bytes.size());
    EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    bytes.resize(bytes.size() - stream.avail_out);
    ::deflateEnd(&stream);
    return bytes;
  };
  const std::string bytes = compressed(text.substr(0, 100)) + compressed(text.substr(100));
  const Timeline whole = timeline_of(bytes);
  EXPECT_THAT(starts_of(whole), ElementsAre(1000, 2000));
  EXPECT_THAT(whole.notes(), IsEmpty());
  const Timeline cut = timeline_of(std::string_view(bytes).substr(0, bytes.size() - 12));
  EXPECT_THAT(cut.notes(), testing::Contains(HasSubstr("the compressed data end early")));
}

TEST(TraceReaders, WhatIsNoTraceIsRefusedWithTheFormats) {
  for (const char* text : {"", "hello", "{}", "{\"a\":1}", "Name,Value\n1,2\n"}) {
    EXPECT_THAT(timeline_of(text).notes(),
                ElementsAre(testing::AllOf(HasSubstr("is not a trace"), HasSubstr("kineto"))))
        << text;
  }
}

}  // namespace
}  // namespace assay
