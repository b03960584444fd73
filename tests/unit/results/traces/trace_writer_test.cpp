#include "results/traces/writing/trace_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "core/json.h"
#include "core/write_file.h"
#include "results/traces/trace_reader.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

/// A launch, its kernel with shapes inside a part of the step, a collective that overlaps the
/// kernel's end on the same stream, and a copy.
Timeline recorded_timeline() {
  Timeline timeline;
  const LaneId host =
      timeline.lane_id({timeline.text_id("host 0"), timeline.text_id("main"), false});
  const LaneId stream =
      timeline.lane_id({timeline.text_id("0"), timeline.text_id("stream 1"), true});
  timeline.devices["0"] = {"a \"GPU\"", 304};
  timeline.epoch = 1'700'000'000'000'000'000;
  const auto add = [&](TraceEventKind kind, LaneId lane, const char* name, std::int64_t start,
                       std::int64_t duration, std::uint64_t correlation,
                       const EventDetail& detail = {}) {
    TraceEvent event;
    event.kind = kind;
    event.lane = lane;
    event.name = timeline.text_id(name);
    event.start = start;
    event.duration = duration;
    event.correlation = correlation;
    event.detail = timeline.detail_id(detail);
    timeline.add(event);
  };
  add(TraceEventKind::annotation, host, "ProfilerStep#1", 1'000, 99'001, no_number);
  add(TraceEventKind::call, host, "LaunchKernel", 2'001, 3'000, 1);
  EventDetail product;
  product.shapes = timeline.text_id("[[64,128],[128,32]]");
  product.types = timeline.text_id("[bf16,bf16]");
  product.flops = 1'000'000;
  product.least = 500;
  add(TraceEventKind::gpu_annotation, stream, "forward qkv", 6'000, 10'000, no_number);
  add(TraceEventKind::kernel, stream, "gemm m=64", 6'000, 10'000, 1, product);
  EventDetail collective;
  collective.collective = timeline.text_id("all_reduce");
  collective.data_type = timeline.text_id("f32");
  collective.elements_in = collective.elements_out = 256;
  collective.group_size = 2;
  collective.bus_bytes = 1'024;
  add(TraceEventKind::kernel, stream, "all_reduce f32", 12'345, 10'000, 2, collective);
  EventDetail copy;
  copy.bytes = 4'096;
  add(TraceEventKind::copy, stream, "Memcpy", 30'000, 7, 3, copy);
  timeline.counters.push_back({"gpu0.power", "W", {{5'000, 250.5}}});
  timeline.note("recorded by own events");
  return timeline;
}

using Row = std::tuple<std::string, int, std::int64_t, std::int64_t, bool>;

std::vector<Row> rows_of(const Timeline& timeline) {
  std::vector<Row> rows;
  for (const TraceEvent& event : timeline.events()) {
    rows.emplace_back(timeline.text(event.name), static_cast<int>(event.kind), event.start,
                      event.duration, event.correlation != no_number);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

Timeline written_and_read(const std::string& name) {
  const Timeline timeline = recorded_timeline();
  const auto kind = trace_file_kind(name);
  EXPECT_TRUE(kind.ok());
  const std::int64_t base = timeline.epoch;
  const auto text = whole_trace({trace_part(timeline, kind->format, 0, base)}, *kind, base);
  EXPECT_TRUE(text.ok());
  Timeline read;
  const TemporaryFolder folder;
  const auto path = folder.path() / name;
  EXPECT_TRUE(write_file(path, *text).ok());
  auto stream = TraceStream::open(path);
  EXPECT_TRUE(stream.ok());
  const Status status = read_trace(std::move(*stream), read);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return read;
}

class TraceWriter : public testing::TestWithParam<const char*> {};

TEST_P(TraceWriter, OwnReadersFindWhatWasWritten) {
  const Timeline timeline = recorded_timeline();
  const Timeline read = written_and_read(GetParam());
  EXPECT_EQ(rows_of(read), rows_of(timeline));
  EXPECT_EQ(read.epoch, timeline.epoch);
  EXPECT_THAT(read.notes(), ElementsAre("recorded by own events"));
  ASSERT_EQ(read.devices.count("0"), 1u);
  EXPECT_EQ(read.devices.at("0").name, "a \"GPU\"");
  EXPECT_EQ(read.devices.at("0").units, 304u);
  std::uint64_t launch = 0;
  std::map<std::string, std::pair<EventDetail, std::uint64_t>> found;
  for (const TraceEvent& event : read.events()) {
    found[std::string(read.text(event.name))] = {read.detail(event.detail), event.correlation};
    if (event.kind == TraceEventKind::call) launch = event.correlation;
  }
  EXPECT_EQ(found["gemm m=64"].second, launch);
  EXPECT_EQ(read.text(found["gemm m=64"].first.shapes), "[[64,128],[128,32]]");
  EXPECT_EQ(read.text(found["gemm m=64"].first.types), "[bf16,bf16]");
  EXPECT_EQ(read.text(found["all_reduce f32"].first.collective), "all_reduce");
  EXPECT_EQ(found["all_reduce f32"].first.elements_in, 256u);
  EXPECT_EQ(found["all_reduce f32"].first.group_size, 2u);
  EXPECT_EQ(found["Memcpy"].first.bytes, 4'096u);
}
INSTANTIATE_TEST_SUITE_P(All, TraceWriter,
                         testing::Values("a.json", "a.json.gz", "a.pftrace", "a.pftrace.gz"));

TEST(TraceRows, EventsThatOverlapWithoutNestingGetARowOfTheirOwn) {
  const Timeline timeline = recorded_timeline();
  std::vector<std::size_t> sizes;
  for (const TraceRow& row : nested_rows(timeline)) sizes.push_back(row.events.size());
  EXPECT_THAT(sizes, ElementsAre(2u, 3u, 1u)) << "the collective is alone";
}

TEST(TraceFiles, RanksHaveLanesAndLaunchesOfTheirOwn) {
  const Timeline timeline = recorded_timeline();
  const std::int64_t base = timeline.epoch - 1'000;
  const auto text = whole_trace({trace_part(timeline, TraceFormat::chrome, 0, base),
                                 trace_part(timeline, TraceFormat::chrome, 1, base)},
                                {TraceFormat::chrome, false}, base);
  ASSERT_TRUE(text.ok());
  const Json json = Json::parse(*text);
  std::set<std::pair<std::uint64_t, std::uint64_t>> hosts;
  std::set<std::uint64_t> launches;
  double first = 1e9, power = 0;
  std::size_t flows = 0;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "X") first = std::min(first, event["ts"].get<double>());
    if (event["ph"] == "s" || event["ph"] == "f") ++flows;
    if (event["ph"] == "C") power = event["args"]["value"];
    if (event.value("cat", "") != "cuda_runtime") continue;
    hosts.emplace(event["pid"], event["tid"]);
    launches.insert(event["args"]["correlation"].get<std::uint64_t>());
  }
  EXPECT_EQ(hosts.size(), 2u);
  EXPECT_EQ(launches.size(), 2u);
  EXPECT_EQ(first, 2.0) << "us since the base";
  EXPECT_EQ(power, 250.5);
  EXPECT_EQ(flows, 8u);
  const Json& kernel =
      *std::find_if(json["traceEvents"].begin(), json["traceEvents"].end(),
                    [](const Json& event) { return event.value("name", "") == "all_reduce f32"; });
  EXPECT_NEAR(kernel["args"]["bus GB/s"].get<double>(), 1'024 / 10'000.0, 1e-12);
}

TEST(TraceFiles, AnotherEndingIsRefused) {
  const auto kind = trace_file_kind("trace.txt");
  ASSERT_FALSE(kind.ok());
  EXPECT_THAT(kind.error().message, HasSubstr("FILE.pftrace"));
}

/// The fields that a file has, with the numbers of Perfetto's protos/perfetto/trace/*.proto.
constexpr const char* perfetto_messages = R"(syntax = "proto2";
message Trace { repeated TracePacket packet = 1; }
message TracePacket {
  optional ClockSnapshot clock_snapshot = 6;
  optional uint64 timestamp = 8;
  optional uint32 trusted_packet_sequence_id = 10;
  optional TrackEvent track_event = 11;
  optional InternedData interned_data = 12;
  optional uint32 sequence_flags = 13;
  optional TrackDescriptor track_descriptor = 60;
}
message ClockSnapshot { repeated Clock clocks = 1; }
message Clock { optional uint32 clock_id = 1; optional uint64 timestamp = 2; }
message TrackEvent {
  enum Type { NONE = 0; TYPE_SLICE_BEGIN = 1; TYPE_SLICE_END = 2; TYPE_INSTANT = 3; TYPE_COUNTER = 4; }
  repeated uint64 category_iids = 3;
  repeated DebugAnnotation debug_annotations = 4;
  optional Type type = 9;
  optional uint64 name_iid = 10;
  optional uint64 track_uuid = 11;
  optional string name = 23;
  optional double double_counter_value = 44;
  repeated fixed64 flow_ids = 47;
}
message DebugAnnotation {
  optional uint64 name_iid = 1;
  optional uint64 uint_value = 3;
  optional double double_value = 5;
  optional string string_value = 6;
}
message InternedData {
  repeated Name event_categories = 1;
  repeated Name event_names = 2;
  repeated Name debug_annotation_names = 3;
}
message Name { optional uint64 iid = 1; optional string name = 2; }
message TrackDescriptor {
  optional uint64 uuid = 1;
  optional string name = 2;
  optional uint64 parent_uuid = 5;
  optional CounterDescriptor counter = 8;
}
message CounterDescriptor { optional string unit_name = 6; }
)";

TEST(TraceFiles, ProtocReadsThePerfettoFormat) {
  if (std::system("protoc --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "protoc is not installed here (Debian: protobuf-compiler)";
  }
  const Timeline timeline = recorded_timeline();
  const auto text = whole_trace({trace_part(timeline, TraceFormat::perfetto, 0, timeline.epoch)},
                                {TraceFormat::perfetto, false}, timeline.epoch);
  ASSERT_TRUE(text.ok());
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "a.pftrace").string();
  ASSERT_TRUE(write_file(file, *text).ok());
  folder.write("trace.proto", perfetto_messages);
  const std::string command = "protoc --proto_path='" + folder.path().string() +
                              "' --decode=Trace trace.proto < '" + file + "' > '" + file + ".txt'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream decoded(file + ".txt");
  const std::string lines((std::istreambuf_iterator<char>(decoded)),
                          std::istreambuf_iterator<char>());
  for (const char* part :
       {"name: \"gemm m=64\"", "name: \"GPU 0\"", "name: \"stream 1\"", "type: TYPE_SLICE_BEGIN",
        "type: TYPE_SLICE_END", "double_counter_value: 250.5", "unit_name: \"W\"", "flow_ids: 1",
        "string_value: \"[[64,128],[128,32]]\"", "timestamp: 1700000000000000000"}) {
    EXPECT_THAT(lines, HasSubstr(part));
  }
  // A field that has another number or type is shown by its number.
  std::istringstream each(lines);
  for (std::string line; std::getline(each, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == line.npos) continue;
    EXPECT_FALSE(line[first] >= '0' && line[first] <= '9') << line;
  }
}

}  // namespace
}  // namespace assay
