// Small traces of the formats other than PyTorch's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/database.h"
#include "core/read_file.h"
#include "core/wire.h"
#include "judge/trace/trace_report.h"
#include "support/temporary_folder.h"
#include "support/trace_text.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The start of a TraceEvent in a sentence: "kernel add on 4/1 from 5 to 9".
std::vector<std::string> lines_of(const Timeline& timeline) {
  std::vector<std::string> lines;
  for (const TraceEvent& event : timeline.events()) {
    const TraceLane& lane = timeline.lane(event.lane);
    lines.push_back(std::string(timeline.text(event.name)) + " on " +
                    std::string(timeline.text(lane.process)) + "/" +
                    std::string(timeline.text(lane.thread)) + " from " +
                    std::to_string(event.start) + " to " + std::to_string(event.end()));
  }
  return lines;
}

TEST(RocprofCsv, ColumnsAreFoundByName) {
  const Timeline timeline = timeline_of(
      "\"End_Timestamp\",\"Start_Timestamp\",\"Kernel_Name\",\"Agent_Id\",\"Queue_Id\","
      "\"Correlation_Id\"\n9,5,\"add(int, float)\",\"Agent 4\",1,7\n20,30,back,\"Agent 4\",1,8\n"
      "x,1,never,\"Agent 4\",1,9\n");
  EXPECT_THAT(lines_of(timeline), ElementsAre("add(int, float) on Agent 4/1 from 5 to 9",
                                              "back on Agent 4/1 from 30 to 30"));
  EXPECT_EQ(timeline.events().front().correlation, 7u);
  EXPECT_TRUE(timeline.grid_in_work_items);
  EXPECT_THAT(timeline.notes(), ElementsAre(HasSubstr("negative duration"), HasSubstr("no time")));
}

TEST(RocprofCsv, TablesOfTheOldRocprofAreRead) {
  EXPECT_THAT(
      lines_of(timeline_of(
          "Index,KernelName,gpu-id,queue-id,BeginNs,EndNs\n0,\"copy [clone .kd]\",2,0,5,9\n")),
      ElementsAre("copy [clone .kd] on 2/0 from 5 to 9"));
}

TEST(RocprofCsv, WhereAPartOfAFileEndsChangesNothing) {
  const std::string text =
      "Kernel_Name,Agent_Id,Queue_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
      "\"add\n(int, \"\"a\"\")\",\"Agent 4\",1,7,5,9\nmul,\"Agent 4\",1,8,10,12\n";
  const auto readers = trace_readers();
  const auto reader = std::find_if(readers.begin(), readers.end(), [](const TraceReader* one) {
    return one->name() == "rocprof-csv";
  });
  ASSERT_NE(reader, readers.end());
  for (std::size_t part = 16; part < text.size(); ++part) {
    Timeline timeline;
    TraceStream stream = TraceStream::of(text, "a.csv", part);
    ASSERT_TRUE((*reader)->read(stream, timeline).ok());
    EXPECT_THAT(lines_of(timeline), ElementsAre("add\n(int, \"a\") on Agent 4/1 from 5 to 9",
                                                "mul on Agent 4/1 from 10 to 12"))
        << part;
  }
}

TEST(RocprofCsv, ATableOfCountersIsNoTrace) {
  EXPECT_THAT(
      timeline_of("Kernel_Name,Counter_Name,Start_Timestamp,End_Timestamp\nk,c,1,2\n").notes(),
      ElementsAre(HasSubstr("is not a trace")));
}

TEST(RocprofCsv, TheTablesOfOneRunAreOneTrace) {
  const TemporaryFolder folder;
  folder.write("7_kernel_trace.csv",
               "Kernel_Name,Agent_Id,Queue_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
               "k,Agent 4,1,3,10,20\n");
  folder.write("7_hip_api_trace.csv",
               "Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
               "hipLaunchKernel,1,1,3,1,2\n");
  folder.write("8_kernel_trace.csv",
               "Kernel_Name,Agent_Id,Queue_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n");
  folder.write("notes.txt", "nothing");
  const auto timelines = read_traces({folder.path().string()});
  ASSERT_TRUE(timelines.ok());
  ASSERT_EQ(timelines->size(), 2u);
  EXPECT_EQ(timelines->front().events().size(), 2u);
}

TEST(TraceReaders, AFileIsReadOnceHoweverOftenItIsGiven) {
  const TemporaryFolder folder;
  const std::string text = kineto_text(gpu_event("kernel", "k", "1", "1"));
  folder.write("a.json", text);
  folder.write("a.json.gz", text);
  folder.write("b.json", text);
  const auto timelines =
      read_traces({(folder.path() / "." / "a.json").string(), folder.path().string()});
  ASSERT_TRUE(timelines.ok());
  ASSERT_EQ(timelines->size(), 2u);
  EXPECT_EQ(timelines->front().events().size(), 1u);
  EXPECT_THAT(timelines->front().notes(),
              ElementsAre(HasSubstr("a.json is given twice"), HasSubstr("a.json.gz is given")));
}

TEST(Rocprofv3Json, ACopyToTheHostIsWorkOfTheGpu) {
  EXPECT_THAT(
      lines_of(timeline_of(
          R"({"rocprofiler-sdk-tool":[{"agents":[{"id":{"handle":76},"node_id":0,"type":1},)"
          R"({"id":{"handle":77},"node_id":2,"type":2}],"buffer_records":{"memory_copy":[)"
          R"({"src_agent_id":{"handle":77},"dst_agent_id":{"handle":76},"start_timestamp":5,)"
          R"("end_timestamp":9}]}}]})")),
      ElementsAre("Memcpy on 2/copy from 5 to 9"));
}

constexpr std::string_view rocprofv3 =
    R"({"rocprofiler-sdk-tool":[{"agents":[{"id":{"handle":77},"node_id":2,"type":2,)"
    R"("name":"gfx942","product_name":"AMD Instinct MI300X","cu_count":304}],)"
    R"("strings":{"buffer_records":[{"kind":"NONE","operations":[]},)"
    R"({"kind":"HIP","operations":["a","hipLaunchKernel"]}]},)"
    R"("kernel_symbols":[{"kernel_id":8,"formatted_kernel_name":"add"}],)"
    R"("buffer_records":{"kernel_dispatch":[{"correlation_id":{"internal":3,"external":9},)"
    R"("start_timestamp":5,"end_timestamp":9,"dispatch_info":{"agent_id":{"handle":77},)"
    R"("queue_id":{"handle":1},"kernel_id":8,"workgroup_size":{"x":256,"y":1,"z":1},)"
    R"("grid_size":{"x":512,"y":1,"z":1}}},{"start_timestamp":6,"end_timestamp":7,)"
    R"("dispatch_info":{"kernel_id":9}}],"hip_api":[{"kind":1,"operation":1,"thread_id":4,)"
    R"("correlation_id":{"internal":3},"start_timestamp":1,"end_timestamp":2}]}}]})";

TEST(Rocprofv3Json, RecordsAreJoinedWithTheirNames) {
  const Timeline timeline = timeline_of(rocprofv3);
  EXPECT_THAT(lines_of(timeline), ElementsAre("add on 2/1 from 5 to 9", "kernel 9 on / from 6 to 7",
                                              "hipLaunchKernel on host/4 from 1 to 2"));
  EXPECT_EQ(timeline.events().front().correlation, 3u);
  EXPECT_EQ(timeline.detail(timeline.events().front().detail).block[0], 256u);
  EXPECT_EQ(timeline.devices.at("2").units, 304u);
  EXPECT_THAT(timeline.notes(), ElementsAre(HasSubstr("name is not in the file")));
}

TEST(Rocprofv3Json, PathsOfARecordAreBounded) {
  std::string members = "\"0\":0";
  for (int i = 1; i < 32; ++i) members += ",\"" + std::to_string(i) + "\":0";
  const std::string key(std::size_t{1} << 20, 'x');
  const Timeline timeline =
      timeline_of(R"({"rocprofiler-sdk-tool":[{"agents":[{")" + key + "\":{" + members + "}}]}]}");
  EXPECT_THAT(timeline.notes(), testing::Contains(HasSubstr("or 16 MiB")));
}

TEST(Rocprofv3Json, ACutFileIsReadUpToItsEnd) {
  const Timeline timeline = timeline_of(rocprofv3.substr(0, rocprofv3.find("hip_api") - 3));
  EXPECT_EQ(timeline.events().size(), 2u);
  EXPECT_THAT(timeline.notes(), testing::Contains(HasSubstr("is cut off at byte")));
}

TEST(Rocprofv3Json, ProcessesHaveLaunchesKernelsAndLanesOfTheirOwn) {
  std::string both(rocprofv3);
  const std::size_t list = both.find("[{\"agents");
  std::string other = both.substr(list + 1, both.size() - list - 3);
  other.replace(other.find("\"add\""), 5, "\"mul\"");
  both.insert(both.size() - 2, "," + other);
  const Timeline timeline = timeline_of(both);
  EXPECT_THAT(
      lines_of(timeline),
      ElementsAre("add on 2/1 from 5 to 9", "kernel 9 on / from 6 to 7",
                  "hipLaunchKernel on host/4 from 1 to 2", "mul on 2/1 of process 2 from 5 to 9",
                  "kernel 9 on / of process 2 from 6 to 7",
                  "hipLaunchKernel on host of process 2/4 from 1 to 2"));
  const auto& events = timeline.events();
  EXPECT_EQ(events[0].correlation, events[2].correlation);
  EXPECT_EQ(events[3].correlation, events[5].correlation);
  EXPECT_NE(events[0].correlation, events[3].correlation);
}

TEST(RocprofCsv, CopiesOfSeveralStreamsDoNotOverlapInOneLane) {
  const std::string header =
      "Direction,Destination_Agent_Id,Start_Timestamp,End_Timestamp,Correlation_Id";
  const auto overlaps = [](const Timeline& timeline) {
    const TraceIndex index(timeline);
    return device_times(index, index.devices().at("4")).same_stream_overlaps;
  };
  const Timeline with_streams = timeline_of(header + ",Stream_Id\nH2D,4,5,9,1,7\nH2D,4,6,8,2,8\n");
  EXPECT_THAT(lines_of(with_streams),
              ElementsAre("H2D on 4/copy 7 from 5 to 9", "H2D on 4/copy 8 from 6 to 8"));
  EXPECT_EQ(overlaps(with_streams), 0u);
  EXPECT_EQ(overlaps(timeline_of(header + ",Stream_Id\nH2D,4,5,9,1,7\nH2D,4,6,8,2,7\n")), 1u);
  EXPECT_EQ(overlaps(timeline_of(header + "\nH2D,4,5,9,1\nH2D,4,6,8,2\n")), 0u)
      << "the streams are unknown";
}

Timeline timeline_of_sql(const TemporaryFolder& folder, const char* sql) {
  const auto path = folder.path() / "trace.sqlite";
  {
    auto database = Database::open(path, Database::Access::write);
    EXPECT_TRUE(database.ok() && database->execute(sql).ok());
  }
  Timeline timeline;
  auto stream = TraceStream::open(path);
  const Status status = read_trace(std::move(stream).value(), timeline);
  if (!status.ok()) timeline.note(status.error().message);
  return timeline;
}

TEST(Nsys, WhatAVersionLacksIsNamedAndTheRestIsRead) {
  const TemporaryFolder folder;
  const Timeline timeline = timeline_of_sql(
      folder,
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES "
      "(1, 'cudaLaunchKernel_v7000'); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "
      "\"end\" INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2); CREATE TABLE "
      "CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, \"end\" INTEGER, globalTid INTEGER, "
      "correlationId "
      "INTEGER, nameId INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 9, 16777218, "
      "3, "
      "1);");
  EXPECT_THAT(lines_of(timeline), ElementsAre("cudaLaunchKernel on 1/2 from 5 to 9"));
  EXPECT_THAT(timeline.notes(), ElementsAre(HasSubstr("the table of kernels could not be read")));
}

TEST(Nsys, GraphsThatWereRecordedWholeAreNamed) {
  const TemporaryFolder folder;
  const Timeline timeline = timeline_of_sql(
      folder,
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE "
      "CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId "
      "INTEGER, correlationId INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES "
      "(5, 9, 0, 7, 3);");
  EXPECT_THAT(lines_of(timeline), ElementsAre("a CUDA graph on 0/7 from 5 to 9"));
  EXPECT_THAT(timeline.notes(), ElementsAre(HasSubstr("--cuda-graph-trace=node")));
}

TEST(Nsys, ProcessesHaveLaunchesOfTheirOwn) {
  const TemporaryFolder folder;
  const Timeline timeline = timeline_of_sql(
      folder,
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES "
      "(1, 'k'); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, streamId, "
      "correlationId, demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ, globalPid); "
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 0, 7, 3, 1, 1, 1, 1, 1, 1, 1, "
      "16777216),"
      " (6, 8, 0, 7, 3, 1, 1, 1, 1, 1, 1, 1, 33554432); CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME "
      "(start, \"end\", globalTid, correlationId, nameId); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME "
      "VALUES (1, 2, 33554433, 3, 1), (3, 4, 16777217, 3, 1);");
  EXPECT_THAT(lines_of(timeline),
              ElementsAre("k on 0/7 from 5 to 9", "k on 0/7 of process 2 from 6 to 8",
                          "k on 2/1 from 1 to 2", "k on 1/1 from 3 to 4"));
  const auto& events = timeline.events();
  EXPECT_EQ(events[0].correlation, events[3].correlation);
  EXPECT_EQ(events[1].correlation, events[2].correlation);
  EXPECT_NE(events[0].correlation, events[1].correlation);
}

TEST(Rocpd, AnotherSchemaIsNamed) {
  const TemporaryFolder folder;
  const Timeline timeline =
      timeline_of_sql(folder, "CREATE TABLE rocpd_kernel_dispatch_1 (id INTEGER);");
  EXPECT_THAT(timeline.events(), IsEmpty());
  EXPECT_THAT(timeline.notes(), testing::Contains(HasSubstr("the table of kernels")));
}

TEST(Nsys, WorkWithoutACorrelationHasNoNumber) {
  const TemporaryFolder folder;
  const Timeline timeline = timeline_of_sql(
      folder,
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES "
      "(1, 'add'); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, streamId, "
      "correlationId, gridX, gridY, gridZ, blockX, blockY, blockZ, globalPid, demangledName); "
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", correlationId, demangledName) "
      "VALUES (1, 2, NULL, 1), (3, 4, 0, 1);");
  ASSERT_EQ(timeline.events().size(), 2u);
  EXPECT_EQ(timeline.events()[0].correlation, no_number);
  EXPECT_EQ(timeline.events()[1].correlation, 0u);
}

TEST(Rocpd, AJoinThatDoesNotEndIsStopped) {
  std::string rows = "(1)";
  for (int i = 1; i < 100; ++i) rows += ",(1)";
  std::string sql;
  for (const char* table : {"info_agent", "info_kernel_symbol", "event"}) {
    sql += "CREATE TABLE rocpd_" + std::string(table) +
           "_1 (id, guid DEFAULT 1, absolute_index, display_name, correlation_id, type, name, "
           "product_name); INSERT INTO rocpd_" +
           table + "_1 (id) VALUES " + rows + ";";
  }
  const TemporaryFolder folder;
  const Timeline timeline = timeline_of_sql(
      folder,
      (sql +
       "CREATE TABLE rocpd_kernel_dispatch_1 (guid DEFAULT 1, agent_id DEFAULT 1, kernel_id "
       "DEFAULT 1, event_id DEFAULT 1, start DEFAULT 9e18, \"end\" DEFAULT 9e18, queue_id, "
       "grid_size_x, grid_size_y, grid_size_z, workgroup_size_x, workgroup_size_y, "
       "workgroup_size_z, id); INSERT INTO rocpd_kernel_dispatch_1 (id) VALUES " +
       rows + ";")
          .c_str());
  EXPECT_THAT(timeline.notes(), testing::Contains(HasSubstr("takes more work than a sound file")));
}

TEST(Nsys, ComputedColumnsAreRefused) {
  const TemporaryFolder folder;
  const Timeline timeline = timeline_of_sql(
      folder,
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value AS (hex(zeroblob(30000000)))); CREATE "
      "TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, \"end\" INTEGER);");
  EXPECT_THAT(timeline.notes(), ElementsAre(HasSubstr("has columns that it computes")));
}

TEST(Rocpd, ADamagedDatabaseIsRefused) {
  const std::string bytes =
      "SQLite format 3" + std::string(1, '\0') + "rocpd_" + std::string(500, 'x');
  EXPECT_THAT(timeline_of(bytes).notes(), ElementsAre(HasSubstr("is damaged")));
}

/// A field of protobuf with a text or a message of less than 128 bytes, or with a small number.
std::string field(int number, std::string_view bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} +
         std::string(bytes);
}
std::string field(int number, char value) {
  return {static_cast<char>(number << 3), value};
}

TEST(Xplane, LinesThatAreDerivedFromStreamsAreSkipped) {
  const std::string event = field(1, 5) + field(2, 100) + field(3, 50);
  const auto line = [&](std::string_view name) {
    return field(3, field(1, 7) + field(2, name) + field(3, 2) + field(4, event));
  };
  const std::string plane = field(2, "/device:GPU:1") +
                            field(4, field(1, 5) + field(2, field(2, "add"))) +
                            line("Stream #7(Kernel)") + line("XLA Ops");
  EXPECT_THAT(lines_of(timeline_of(field(1, plane))), ElementsAre("add on 1/7 from 2 to 2"));
  const std::string cut = field(1, plane) + field(1, plane).substr(0, 20);
  EXPECT_THAT(timeline_of(cut).notes(), ElementsAre(HasSubstr("is cut off or damaged")));
}

/// A packet with the description of a track.
std::string perfetto_track(int number, std::string_view name, int parent) {
  std::string body = field(1, static_cast<char>(number)) + field(2, name);
  if (parent > 0) body += field(5, static_cast<char>(parent));
  // Field numbers above 15 take two bytes.
  return field(1, field(10, '\x01') + "\xe2\x03" + static_cast<char>(body.size()) + body);
}

/// A trace of Perfetto: a kernel from 5 to 9 on a stream of GPU 2, launched by a call from 1 to 2.
std::string perfetto_trace() {
  const auto slice = [](int time, int type, int number, std::string_view name, int flow_field) {
    std::string event = field(9, static_cast<char>(type)) + field(11, static_cast<char>(number));
    if (!name.empty()) {
      event += "\xba\x01" + std::string(1, static_cast<char>(name.size())) + std::string(name);
      event += flow_field == 47 ? "\xf9\x02" : "\x81\x03";
      event += std::string("\x07\0\0\0\0\0\0\0", 8);
    }
    return field(1, field(8, static_cast<char>(time)) + field(10, '\x01') + field(11, event));
  };
  return perfetto_track(1, "main", 0) + perfetto_track(2, "GPU 2", 0) +
         perfetto_track(3, "stream 0", 2) + slice(1, 1, 1, "hipLaunchKernel", 47) +
         slice(2, 2, 1, "", 0) + slice(5, 1, 3, "add", 48) + slice(9, 2, 3, "", 0) +
         slice(12, 2, 3, "", 0) + slice(13, 1, 3, "open", 48);
}

TEST(TraceReaders, WhatIsNoEventIsBoundedToo) {
  const auto read = [](const std::string& text) {
    Timeline timeline;
    timeline.limit_bytes(10'000);
    const Status status = read_trace(TraceStream::of(text, "a"), timeline);
    EXPECT_TRUE(status.ok());
    EXPECT_LT(timeline.bytes(), 11'000u);
    return timeline.notes();
  };
  std::string ends, begins;
  for (int i = 0; i < 1000; ++i) {
    const std::string event = "\"tid\":" + std::to_string(i) + ",\"ts\":1},";
    ends += "{\"ph\":\"E\"," + event;
    begins += "{\"ph\":\"B\",\"cat\":\"cpu_op\"," + event;
  }
  EXPECT_THAT(read(kineto_text(ends + "{}")), testing::Contains(HasSubstr("8 GiB")));
  EXPECT_THAT(read(kineto_text(begins + "{}")), testing::Contains(HasSubstr("8 GiB")));
}

TEST(Perfetto, PacketsWithoutEventsAreBoundedToo) {
  Timeline timeline;
  timeline.limit_bytes(0);
  ASSERT_TRUE(
      read_trace(TraceStream::of(perfetto_track(1, "main", 0), "a.pftrace"), timeline).ok());
  EXPECT_THAT(timeline.notes(), ElementsAre(HasSubstr("8 GiB")));
}

TEST(Perfetto, SlicesOfTracksBelowAGpuAreItsWork) {
  const Timeline timeline = timeline_of(perfetto_trace());
  EXPECT_THAT(lines_of(timeline),
              ElementsAre("hipLaunchKernel on /1 from 1 to 2", "add on 2/3 from 5 to 9"));
  EXPECT_EQ(timeline.events()[0].correlation, timeline.events()[1].correlation);
  EXPECT_THAT(timeline.notes(),
              ElementsAre("an event begins and does not end", "an event ends that did not begin"));
}

TEST(Perfetto, IncrementalClocksAndDefaultsAreThoseOfTheSequence) {
  // Clock 64 counts microseconds from 100 on, and events that name no track are on track 3.
  const std::string defaults = "\xd0\x03\x40" + field(11, field(11, '\x03'));
  const std::string clock = field(1, '\x40') + field(2, '\x64') + field(3, '\x01') + "\x20\xe8\x07";
  std::string trace =
      perfetto_track(2, "GPU 2", 0) + perfetto_track(3, "stream 0", 2) +
      field(1, field(10, '\x01') + field(13, '\x01') + "\xda\x03" +
                   static_cast<char>(defaults.size()) + defaults + field(6, field(1, clock)));
  const std::string begin = field(11, field(9, '\x01') + "\xba\x01\x03" + "add");
  for (int i = 0; i < 5; ++i) {
    trace += field(1, field(8, '\x01') + field(10, '\x01') + begin);
    trace += field(1, field(8, '\x03') + field(10, '\x01') + field(11, field(9, '\x02')));
  }
  const Timeline timeline = timeline_of(trace);
  const auto lines = lines_of(timeline);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines.front(), "add on 2/3 from 101000 to 104000");
  EXPECT_EQ(lines.back(), "add on 2/3 from 117000 to 120000");
}

/// A database as bytes.
std::string database_bytes(const char* sql) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "trace.sqlite";
  {
    auto database = Database::open(path, Database::Access::write);
    EXPECT_TRUE(database.ok() && database->execute(sql).ok());
  }
  return read_bytes(path, std::size_t{1} << 20).text;
}

TEST(TraceReaders, WhatIsDamagedIsReadOrRefused) {
  const std::string kernel = gpu_event("kernel", "ncclDevKernel", "1", "2", R"("correlation":1)");
  const std::string samples[] = {
      kineto_text(kernel + "," + gpu_event("gpu_memcpy", "c", "2", "5", R"("grid":[1,2,3])")),
      "Kernel_Name,Agent_Id,Queue_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
      "\"add(int, float)\",\"Agent 4\",1,7,5,9\n",
      std::string(rocprofv3),
      perfetto_trace(),
      field(1, field(2, "/device:GPU:1") +
                   field(3, field(2, "Stream #7") + field(4, field(1, 5) + field(2, 100)))),
  };
  std::size_t read = 0;
  const auto check = [&](std::string_view bytes) {
    const Timeline timeline = timeline_of(bytes);
    const TraceIndex index(timeline);
    for (const DeviceReport& device : report_trace(index).devices) {
      EXPECT_GE(device.times.span, 0);
      EXPECT_GE(device.times.busy, 0);
      EXPECT_LE(device.times.busy, device.times.span);
      ++read;
    }
  };
  for (const std::string& sample : samples) {
    for (std::size_t i = 0; i < sample.size(); ++i) {
      check(std::string_view(sample).substr(0, i));
      for (const char letter : {'9', '\xff', '-', 'e'}) {
        std::string damaged = sample;
        damaged[i] = letter;
        check(damaged);
      }
    }
  }
  const std::string database = database_bytes(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE "
      "CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId "
      "INTEGER, correlationId INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES "
      "(5, 9, 0, 7, 3);");
  for (std::size_t i = 0; i < database.size(); i += 137) {
    std::string damaged = database;
    damaged[i] = static_cast<char>(damaged[i] ^ '\x55');
    check(damaged);
    check(std::string_view(database).substr(0, i));
  }
  EXPECT_GT(read, 500u);
}

TEST(Wire, NoFieldReachesBeyondTheMessage) {
  for (const std::string& bytes :
       {std::string("\x0a\x05xy"), std::string("\x08"), std::string(11, '\x80'),
        std::string("\x09xyz"), std::string("\x0dxy"), std::string("\x0b")}) {
    WireReader reader(bytes);
    WireField found;
    EXPECT_FALSE(reader.next(found));
    EXPECT_TRUE(reader.is_damaged());
  }
  WireReader reader("\x08\x96\x01\x12\x02hi");
  WireField found;
  ASSERT_TRUE(reader.next(found));
  EXPECT_EQ(found.integer, 150u);
  ASSERT_TRUE(reader.next(found));
  EXPECT_EQ(found.bytes, "hi");
  EXPECT_FALSE(reader.next(found));
  EXPECT_FALSE(reader.is_damaged());
}

}  // namespace
}  // namespace assay
