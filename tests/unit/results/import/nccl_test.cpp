// nccl-tests and rccl-tests: every generation of their tables, and what happens to them on the way.
#include <gmock/gmock.h>

#include "unit/import_samples.h"
#include "unit/import_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string run_settings =
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg "
    "iters: 1 validation: 1 graph: 0\n";
const std::string header =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " (GB/s)  (GB/s)\n";
const std::string nccl_row =
    "  1073741824     268435456     float     sum      -1  10887.4   98.62  184.92      0  10867.5 "
    "  98.80  185.26      0\n";

TEST(ImportNccl, ARowGivesTwoCellsInUnitsOfTheSystem) {
  const Imported result = imported(nccl_sample);
  EXPECT_EQ(result.format, "nccl-tests");
  ASSERT_EQ(result.records.size(), 4u);
  EXPECT_THAT(result.warnings, IsEmpty());
  const Record& record =
      record_of(result, "collective op=all_reduce dtype=f32 redop=sum place=in ranks=2 size=2KiB");
  EXPECT_EQ(record.metrics.front().name, "busbw");
  EXPECT_EQ(metric_of(record, "busbw").value, 0.19e9);
  EXPECT_EQ(metric_of(record, "busbw").unit, "bytes/s");
  EXPECT_EQ(metric_of(record, "busbw").text, "0.19");
  EXPECT_DOUBLE_EQ(metric_of(record, "time").value, 10.75e-6);
  EXPECT_EQ(metric_of(record, "busbw").better, Better::higher);
  for (const char* same : {"time", "algbw"}) {
    EXPECT_EQ(metric_of(record, same).better, Better::neither) << "the row is judged once";
  }
  EXPECT_EQ(metric_of(record, "wrong").value, 0);
  EXPECT_EQ(record.device.backend, "other");
  EXPECT_EQ(record.device.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(record.source->tool, "nccl-tests");
  EXPECT_EQ(record.source->version, "2.19.6");
  EXPECT_EQ(record.source->line, 14u);
  EXPECT_EQ(record.time, "");
  EXPECT_EQ(note_of(record, "nccl"), "2.29.3+cuda13.1");
  EXPECT_EQ(note_of(record, "iters"), "20");
  EXPECT_EQ(note_of(record, "warmup_iters"), "1");
  EXPECT_EQ(note_of(record, "hosts"), "node1");
}

TEST(ImportNccl, LostHashesChangeNothing) {
  std::string text(nccl_sample);
  std::erase(text, '#');
  const Imported result = imported(text);
  ASSERT_EQ(result.records.size(), 4u);
  const Record& record =
      record_of(result, "collective op=all_reduce dtype=f32 redop=sum place=out ranks=2 size=1KiB");
  EXPECT_EQ(metric_of(record, "busbw").value, 0.1e9);
  EXPECT_EQ(metric_of(record, "wrong").value, 0);
}

TEST(ImportNccl, LabelsOfSrun) {
  const Imported result =
      imported(" 0: " + header.substr(0, header.find('\n') + 1) + " 0: " + nccl_row);
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(metric_of(result.records[1], "busbw").value, 185.26e9);
  EXPECT_EQ(imported("[0] " + nccl_row).records.size(), 2u);
  EXPECT_EQ(imported("12: " + nccl_row).records.size(), 2u);
}

TEST(ImportNccl, TagsOfMpirunAlsoWithinARow) {
  const std::string tag = "[1,0]<stdout>:";
  std::string text = tag + run_settings + tag + header.substr(0, header.find('\n') + 1);
  text += tag + nccl_row.substr(0, 60) + "[1,12]<stderr>:" + nccl_row.substr(60);
  const Imported result = imported(text);
  ASSERT_EQ(result.records.size(), 2u) << testing::PrintToString(result.warnings);
  EXPECT_EQ(metric_of(result.records[0], "busbw").value, 184.92e9);
}

TEST(ImportNccl, LinesOfLibrariesInBetweenAreNoRows) {
  const Imported result = imported(
      run_settings + "n1:3442:3442 [0] NCCL INFO Launch mode Parallel\n" + header +
      "[1700000000.1] [n1:1:0] ucp_context.c:1 UCX WARN  network device\n" + nccl_row +
      "n1:3442:3500 [0] NCCL INFO Channel 00 : 0 1 2 3\nRCCL version : 2.21.5-HEAD:1\n" + nccl_row);
  EXPECT_EQ(result.records.size(), 4u);
  EXPECT_THAT(result.warnings, IsEmpty());
  EXPECT_EQ(note_of(result.records[0], "rccl_version"), "2.21.5-HEAD:1");
}

TEST(ImportNccl, RowsOfSizeZero) {
  const Imported result = imported(run_settings + header +
                                   "           0             0     float     sum      -1    35.20  "
                                   "  0.00    0.00      0    34.05 "
                                   "   0.00    0.00      0\n");
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(result.records[0].cell.text("size"), "0");
  EXPECT_DOUBLE_EQ(metric_of(result.records[0], "time").value, 35.20e-6);
}

TEST(ImportNccl, NotAvailableIsNotZero) {
  const Imported wrong = imported(run_settings + header +
                                  " 8589934592     268435456     float    none      -1    20837  "
                                  "412.23  360.71      0    20817  "
                                  "412.64  361.06    N/A\n");
  ASSERT_EQ(wrong.records.size(), 2u);
  EXPECT_EQ(wrong.records[1].status, RecordStatus::passed);
  EXPECT_EQ(wrong.records[1].metrics.size(), 3u);  // no count of wrong elements
  const Imported half = imported(run_settings + header +
                                 " 8589934592     268435456     float    none      -1    20837  "
                                 "412.23  360.71      0    N/A    "
                                 "N/A    N/A    N/A\n");
  ASSERT_EQ(half.records.size(), 2u);
  EXPECT_EQ(half.records[1].status, RecordStatus::unsupported);
  EXPECT_THAT(half.records[1].metrics, IsEmpty());
}

TEST(ImportNccl, TheErrorColumnOfVersionsBefore213) {
  const std::string old =
      "# nThread 1 nGpus 8 minBytes 1 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 "
      "validation: 1\n"
      "#   Rank  0 Pid 112424 on localhost device  0 [0x1b] A100-SXM4-40GB\n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw "
      "  "
      "busbw  error\n"
      "   536870912     134217728   float     sum   4200.3  127.82  223.68  4e-07   4184.0  128.32 "
      " "
      "224.55    N/A\n"
      "  1073741824     268435456   float     sum   8159.5  131.59  230.29  1e+00*  8176.5  131.32 "
      " "
      "229.81  1e+00\n";
  const Imported result = imported(old, "all_reduce.log");
  ASSERT_EQ(result.records.size(), 4u) << testing::PrintToString(result.warnings);
  EXPECT_EQ(result.records[0].cell.id(),
            "collective op=all_reduce dtype=f32 redop=sum place=out ranks=1 size=512MiB");
  EXPECT_EQ(note_of(result.records[0], "error"), "4e-07");
  EXPECT_EQ(result.records[0].status, RecordStatus::passed);
  EXPECT_EQ(result.records[2].status, RecordStatus::failed);
  EXPECT_EQ(result.records[2].reason, "error 1e+00* is above the threshold");
  EXPECT_EQ(result.records[3].status, RecordStatus::passed);
}

TEST(ImportNccl, OldTablesWithoutRedop) {
  const Imported named = imported(
      "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw "
      " "
      "error\n"
      "        1024           128   float    21.75    0.05    0.02  0e+00    20.94    0.05    0.02 "
      " "
      "0e+00\n",
      "all_gather.txt");
  ASSERT_EQ(named.records.size(), 2u);
  EXPECT_EQ(named.records[0].cell.id(),
            "collective op=all_gather dtype=f32 redop=none place=out ranks=2 size=1KiB");
  // The header names the column; a row of an operation without a reduction leaves it empty.
  const Imported blank = imported(
      header +
          "        1024           128   float       -1    21.75    0.05    0.02     0    20.94   "
          " 0.05    0.02     0\n",
      "all_gather.txt");
  ASSERT_EQ(blank.records.size(), 2u);
  EXPECT_DOUBLE_EQ(metric_of(blank.records[1], "time").value, 20.94e-6);
}

TEST(ImportNccl, AHeaderWithSideWork) {
  const Imported result =
      imported(run_settings.substr(0, run_settings.size() - 1) +
               " side_work: 0 work_sms: 0 direction: H2D\n" + header + nccl_row);
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(note_of(result.records[0], "side_work"), "0");
  EXPECT_EQ(note_of(result.records[0], "iters"), "20");
}

TEST(ImportNccl, EventTimesAndSingleHalves) {
  const Imported result = imported(
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 validation: 1\n"
      "#                                                                in-place\n"
      "#       size         count      type   redop    root     time   hipevt   algbw   busbw  "
      "#wrong\n"
      "     1048576        262144     float     sum      -1    37.37    30.25   28.06   49.11      "
      " "
      "0\n");
  ASSERT_EQ(result.records.size(), 1u);
  EXPECT_EQ(result.records[0].cell.text("place"), "in");
  EXPECT_DOUBLE_EQ(metric_of(result.records[0], "time").value, 37.37e-6);
  EXPECT_DOUBLE_EQ(metric_of(result.records[0], "event_time").value, 30.25e-6);
  EXPECT_EQ(metric_of(result.records[0], "busbw").value, 49.11e9);
}

TEST(ImportNccl, TimesPerIteration) {
  const std::string half = "     time   algbw   busbw  #wrong   i_min   i_max   i_p99  i_cv%";
  const Imported result = imported(
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 validation: 1\n"
      "#       size         count      type   redop    root" +
      half + half +
      "\n"
      "     1048576        262144     float     sum      -1    37.37   28.06   49.11       0   "
      "30.50   "
      "45.00   44.50    12.5    37.64   27.86   48.75       0   31.00   46.00   45.50    13.5\n");
  ASSERT_EQ(result.records.size(), 2u) << testing::PrintToString(result.warnings);
  EXPECT_DOUBLE_EQ(metric_of(result.records[0], "i_p99").value, 44.5e-6);
  EXPECT_DOUBLE_EQ(metric_of(result.records[1], "i_max").value, 46e-6);
  EXPECT_EQ(metric_of(result.records[1], "i_cv").value, 0.135);
  EXPECT_EQ(metric_of(result.records[1], "busbw").value, 48.75e9);
}

TEST(ImportNccl, CpuTimesAreCellsOfTheirOwn) {
  std::string cpu = header;
  for (std::size_t at = cpu.find(" time"); at != std::string::npos;
       at = cpu.find(" time", at + 8)) {
    cpu.replace(at, 5, " cputime");
  }
  const Imported result = imported(run_settings + cpu + nccl_row);
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(result.records[0].cell.text("timing"), "cpu");
  EXPECT_DOUBLE_EQ(metric_of(result.records[0], "time").value, 10887.4e-6);
}

TEST(ImportNccl, TimeStampsOfRows) {
  std::string stamped = header;
  stamped.insert(stamped.find('\n'), "            timestamp");
  const std::string text =
      run_settings + stamped + nccl_row.substr(0, nccl_row.size() - 1) + "  2026-07-01 10:20:30\n";
  const Imported result = imported(text);
  ASSERT_EQ(result.records.size(), 2u) << testing::PrintToString(result.warnings);
  EXPECT_EQ(result.records[1].time, "2026-07-01T10:20:30");  // in an unstated time zone
  EXPECT_EQ(metric_of(result.records[1], "busbw").value, 185.26e9);
}

TEST(ImportNccl, AlgorithmProtocolAndChannels) {
  std::string named = header;
  named.insert(named.find('\n'), "     algo     proto  nchannels");
  const Imported result = imported(run_settings + named + nccl_row.substr(0, nccl_row.size() - 1) +
                                   "     RING    SIMPLE         28\n");
  ASSERT_EQ(result.records.size(), 2u) << testing::PrintToString(result.warnings);
  EXPECT_EQ(note_of(result.records[0], "algo"), "RING");
  EXPECT_EQ(note_of(result.records[1], "proto"), "SIMPLE");
  EXPECT_EQ(note_of(result.records[1], "nchannels"), "28");
}

TEST(ImportNccl, TheLineThatGfx942GluesToTheFirst) {
  const Imported result = imported(
      "On gfx942 architecture, using FNUZ FP8 types# rccl-tests version 2.18.3-develop:1 "
      "rccl-headers=22803 rccl-library=22707\n# Collective test starting: reduce_scatter_perf\n" +
      run_settings + header +
      "     1048576        131072  fp8_e4m3     sum      -1    37.37   28.06   14.03      0    "
      "37.64  "
      " 27.86   13.93      0\n");
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(result.records[0].source->tool, "rccl-tests");
  EXPECT_EQ(result.records[0].source->version, "2.18.3-develop:1");
  EXPECT_EQ(note_of(result.records[0], "library"), "22707");
  EXPECT_EQ(result.records[0].cell.text("op"), "reduce_scatter");
  EXPECT_EQ(result.records[0].cell.text("dtype"), "e4m3");
}

TEST(ImportNccl, FnuzIsAnotherType) {
  const Imported result =
      imported("On gfx942 architecture, using FNUZ FP8 types\n" + run_settings + header +
               "     1048576        131072  fp8_e4m3     sum      -1    37.37   28.06   14.03      "
               "0    37.64  "
               " 27.86   13.93      0\n");
  EXPECT_EQ(result.records.at(0).cell.text("dtype"), "e4m3_fnuz");
}

TEST(ImportNccl, DevicesWithoutNamesAndListsThatAreCut) {
  const Imported result =
      imported(run_settings +
               "#  Rank  0 Group  0 Pid    268 on inst-aq8lt-oke-rdma device  0 [0000:11:00]\n"
               "#  Rank 15 Group  0 Pid    121 on inst-ao2dl-oke-rdma device  7 [0000:da:00]\n" +
               header + nccl_row);
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(result.records[0].device.name, "");
  EXPECT_EQ(result.records[0].cell.text("ranks"), "16");
  EXPECT_EQ(note_of(result.records[0], "hosts"), "inst-aq8lt-oke-rdma,inst-ao2dl-oke-rdma");
}

TEST(ImportNccl, SplitsCountTheRanksOfOneGroup) {
  const Imported result = imported(run_settings +
                                   "#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:11:00] H100\n"
                                   "#  Rank  1 Group  0 Pid 1 on n1 device  1 [0000:12:00] H100\n"
                                   "#  Rank  2 Group  1 Pid 2 on n2 device  0 [0000:11:00] H100\n"
                                   "#  Rank  3 Group  1 Pid 2 on n2 device  1 [0000:12:00] H100\n" +
                                   header + nccl_row);
  EXPECT_EQ(result.records.at(0).cell.text("ranks"), "2");
}

TEST(ImportNccl, RowsWithoutAnyHeader) {
  const Imported result = imported(nccl_row + nccl_row, "/logs/mi325x_allreduce_1node.txt");
  ASSERT_EQ(result.records.size(), 4u);
  EXPECT_EQ(result.records[1].cell.id(),
            "collective op=all_reduce dtype=f32 redop=sum place=in ranks=16 size=1GiB");
  EXPECT_EQ(metric_of(result.records[1], "busbw").value, 185.26e9);
  // Nothing names the operation. It gathers, so its sizes tell the number of ranks.
  const Imported gathered = imported(
      "  65536  512  float  none  -1  107.5  0.61  0.59  0  105.6  0.62  0.60  0\n", "x.txt");
  EXPECT_EQ(gathered.records.at(0).cell.id(),
            "collective op=unknown dtype=f32 redop=none place=out ranks=32 size=64KiB");
}

TEST(ImportNccl, SeveralRunsInOneFile) {
  const std::string text = "$ ./all_reduce_perf -b 1G\n" + run_settings + header + nccl_row +
                           "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 185.0\n" +
                           "$ ./sendrecv_perf -b 1G\n" + run_settings + header + nccl_row + "#\n" +
                           run_settings + header + nccl_row;
  const Imported result = imported(text);
  ASSERT_EQ(result.records.size(), 6u);
  EXPECT_NE(result.records[0].run, result.records[2].run);
  EXPECT_NE(result.records[2].run, result.records[4].run);
  EXPECT_EQ(result.records[0].cell.text("op"), "all_reduce");
  EXPECT_EQ(note_of(result.records[0], "average_busbw"), "185.0");
  EXPECT_EQ(note_of(result.records[2], "average_busbw"), "");
}

TEST(ImportNccl, RowsThatAreCutKeepWhatIsWhole) {
  const Imported result = imported(run_settings + header + nccl_row +
                                   nccl_row.substr(0, nccl_row.find("185.26") + 3) + "\n");
  ASSERT_EQ(result.records.size(), 3u);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_THAT(result.warnings[0], HasSubstr("line 5: the row is truncated after 12 of 13 columns"));
}

TEST(ImportNccl, RowsOfDcgmHaveAColumnMore) {
  std::string more = header;
  more.insert(more.find('\n'), "  #iters");
  const Imported result =
      imported(run_settings + more + nccl_row.substr(0, nccl_row.size() - 1) + "      20\n");
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(metric_of(result.records[1], "wrong").value, 0);
}

TEST(ImportNccl, RowsThatDoNotFitTheirTableAreNamed) {
  const Imported result = imported(run_settings + header + nccl_row +
                                   nccl_row.substr(0, nccl_row.size() - 1) + " 1 2 3\n");
  EXPECT_EQ(result.records.size(), 2u);
  EXPECT_THAT(result.warnings,
              ElementsAre(HasSubstr("line 5: looks like a row but does not have")));
}

TEST(ImportNccl, WrongElementsFailTheirHalfAndKeepItsNumbers) {
  std::string bad = nccl_row;
  bad.replace(bad.rfind('0'), 1, "1.23457e+06");
  const Imported result =
      imported(run_settings + header + nccl_row + bad + "# Out of bounds values : 1 FAILED\n");
  ASSERT_EQ(result.records.size(), 4u);
  EXPECT_EQ(result.records[2].status, RecordStatus::passed);
  EXPECT_EQ(result.records[3].status, RecordStatus::failed);
  EXPECT_EQ(result.records[3].reason, "1.23457e+06 wrong elements");
  EXPECT_EQ(metric_of(result.records[3], "busbw").value, 185.26e9);
}

TEST(ImportNccl, AFooterThatSaysFailedFailsTheRunIfNoRowSaysWhich) {
  const Imported result =
      imported(run_settings + header + nccl_row +
               "# Out of bounds values : 3 FAILED\n# Avg bus bandwidth    : 185\n" + run_settings +
               header + nccl_row + "# Out of bounds values : 0 OK\n");
  ASSERT_EQ(result.records.size(), 4u);
  EXPECT_EQ(result.records[0].status, RecordStatus::failed);
  EXPECT_EQ(result.records[1].reason, "the run says: 3 FAILED");
  EXPECT_EQ(result.records[2].status, RecordStatus::passed);
}

TEST(ImportNccl, JsonDropsTheEnvironment) {
  const Imported result = imported(nccl_json_sample);
  ASSERT_EQ(result.records.size(), 2u);
  const Record& out = record_of(
      result, "collective op=all_gather dtype=f32 redop=none place=out ranks=2 size=1MiB");
  EXPECT_EQ(metric_of(out, "busbw").value, 9.15e9);
  EXPECT_EQ(metric_of(out, "busbw").text, "9.150000");
  EXPECT_DOUBLE_EQ(metric_of(out, "i_p99").value, 60.9e-6);
  EXPECT_EQ(out.time, "2026-07-01T10:20:30");
  EXPECT_EQ(out.device.name, "NVIDIA H100");
  EXPECT_EQ(out.status, RecordStatus::failed);  // of a run that found wrong results
  EXPECT_EQ(result.records[1].reason, "3 wrong elements");
  for (const Record& record : result.records) {
    for (const auto& [key, value] : record.notes)
      EXPECT_THAT(value, testing::Not(HasSubstr("hunter2")));
  }
}

TEST(ImportNccl, TheReporterOfRcclTests) {
  const Imported json = imported(rccl_json_sample);
  EXPECT_EQ(json.format, "rccl-tests-json");
  const std::string cell =
      "collective op=all_reduce dtype=f32 redop=sum place=in ranks=16 size=1GiB";
  EXPECT_EQ(value_of(json, cell, "busbw"), 349.86e9);
  EXPECT_EQ(note_of(record_of(json, cell), "nodes"), "2");
  const Imported lines = imported(
      "{\"numCycle\":1,\"name\":\"AllReduce\",\"gpus\":8,\"size\":8,\"type\":\"half\",\"redop\":"
      "\"sum\","
      "\"inPlace\":0,\"time\":13.5,\"algBw\":0.1,\"busBw\":0.2,\"#wrong\":\"4\"}\n"
      "{\"numCycle\":1,\"name\":\"AllReduce\",\"gpus\":8,\"size\":8,\"type\":\"half\",\"redop\":"
      "\"sum\","
      "\"inPlace\":1,\"time\":13.5,\"algBw\":0.1,\"busBw\":0.2,\"#wrong\":\"0\"}\n");
  ASSERT_EQ(lines.records.size(), 2u);
  EXPECT_EQ(lines.records[0].status, RecordStatus::failed);
  EXPECT_EQ(lines.records[1].status, RecordStatus::passed);
  EXPECT_EQ(lines.records[1].cell.text("ranks"), "8");
  // The header of its CSV has one name fewer than the rows have fields.
  const Imported csv = imported(rccl_csv_sample);
  EXPECT_EQ(csv.format, "rccl-tests-csv");
  const Record& record =
      record_of(csv, "collective op=all_to_all dtype=bf16 redop=none place=in ranks=16 size=1MiB");
  EXPECT_EQ(metric_of(record, "busbw").value, 16.95e9);
  EXPECT_EQ(note_of(record, "nodes"), "2");
}

constexpr std::string_view head = "# nThread 1 nGpus 8 minBytes 8 maxBytes 8\n";

TEST(ImportNccl, TheProgramNamedBeforeARunsHeadIsThatRuns) {
  const Imported result = imported(
      "$ ./alltoall_perf -b 8\n" + std::string(head) +
          "node1: Test NCCL failure common.cu:1285 'unhandled cuda error'\n"
          " .. node1 pid 776691: Test failure common.cu:1161 in alltoall_perf\n"
          "$ ./sendrecv_perf -b 8\n" +
          std::string(head) + "1073741824 268435456 float none -1 5753.0 186.64 186.64 0\n",
      "all_reduce.log");
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(result.records[0].cell.id(), "collective op=all_to_all");
  EXPECT_EQ(result.records[0].status, RecordStatus::failed);
  EXPECT_EQ(result.records[0].reason, "Test NCCL failure common.cu:1285 'unhandled cuda error'");
  EXPECT_EQ(result.records[1].cell.text("op"), "send_recv");
  EXPECT_EQ(result.records[1].status, RecordStatus::passed);
}

TEST(ImportNccl, AFailureOfAnUnnamedProgramIsOfAnUnknownOperation) {
  const Imported result = imported(std::string(head) + "n1: Test CUDA failure common.cu:9 'oom'\n");
  EXPECT_EQ(result.records[0].cell.id(), "collective op=unknown");
}

TEST(ImportNccl, TheOperationIsGuessedOncePerTable) {
  // In the first row, rounding hides both bandwidths.
  const Imported result = imported(
      "        1024           256     float     sum      -1    30.50    0.00    0.00       0\n"
      "  1073741824     268435456     float     sum      -1   5753.0  186.64  326.62       0\n");
  ASSERT_EQ(result.records.size(), 2u);
  for (const Record& record : result.records) {
    EXPECT_EQ(record.cell.text("op"), "all_reduce");
    // 2 (n - 1) / n is 1.75
    EXPECT_EQ(record.cell.text("ranks"), "8");
  }
  EXPECT_EQ(result.records[0].cell.id(),
            "collective op=all_reduce dtype=f32 redop=sum place=out ranks=8 size=1KiB");
}

TEST(ImportNccl, RanksThatSeveralNumbersRoundToStayUnknown) {
  const Imported few = imported("1024 256 float none -1 10.50 0.10 0.09 0\n", "all_gather.log");
  EXPECT_EQ(few.records[0].cell.text("ranks"), "");
  const Imported many =
      imported("8589934592 2147483648 float sum -1 41000.0 209.51 417.38 0\n", "all_reduce.log");
  EXPECT_EQ(many.records[0].cell.text("ranks"), "");
  const Imported broadcast =
      imported("8589934592 2147483648 float none 0 41000.0 209.51 209.51 0\n", "broadcast.log");
  EXPECT_EQ(broadcast.records[0].cell.text("ranks"), "");
}

TEST(ImportNccl, ARootTellsReduceAndBroadcast) {
  const auto op = [](const std::string& header, const std::string& row, std::string_view name) {
    return std::string(imported(header + row, name).records.at(0).cell.text("op"));
  };
  const std::string newer =
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong\n";
  const std::string broadcast = " 1048576 262144 float none 0 76.74 13.66 13.66 0\n";
  for (const char* name : {"x.log", "reduce_perf.log"}) {
    EXPECT_EQ(op(newer, " 1048576 262144 float sum 0 76.74 13.66 13.66 0\n", name), "reduce");
  }
  EXPECT_EQ(op(newer, broadcast, "x.log"), "broadcast");
  EXPECT_EQ(op("#   size   count   type   root   time  algbw  busbw  error\n",
               " 1048576 262144 float 0 76.74 13.66 13.66 0e+00\n", "x.log"),
            "broadcast");
  // Gather and scatter cannot be told apart.
  EXPECT_EQ(op(newer, " 1048576 32768 float none 0 76.74 13.66 11.95 0\n", "x.log"), "unknown");
}

TEST(ImportNccl, TheFilesNameIsHeldAgainstTheNumbers) {
  const std::string gather = " 1048576 32768 float none -1 4369.0 0.24 0.21 0\n";
  const Imported misnamed = imported(gather, "all_reduce.log");
  EXPECT_EQ(misnamed.records.at(0).cell.id(),
            "collective op=unknown dtype=f32 redop=none place=out ranks=8 size=1MiB");
  EXPECT_THAT(misnamed.warnings,
              ElementsAre("line 1: the file's name says all_reduce, its numbers are of another "
                          "operation"));
  const Imported reduce =
      imported(" 1073741824 268435456 float sum -1 5753.0 186.64 326.62 0\n", "all_gather.log");
  EXPECT_EQ(reduce.records.at(0).cell.text("op"), "all_reduce");
  EXPECT_THAT(reduce.warnings,
              ElementsAre(HasSubstr("says all_gather, its numbers are of all_re")));
  EXPECT_THAT(imported(gather, "all_gather.log").warnings, IsEmpty());
  // What the program says of itself counts more than the numbers.
  EXPECT_EQ(imported("# Collective test starting: all_reduce_perf\n" + gather, "x.log")
                .records.at(0)
                .cell.text("op"),
            "all_reduce");
}

TEST(ImportNccl, ProgramsThatDoNotFindEachOtherAreNamed) {
  const std::string settings = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n";
  const auto rank = [](const char* host) {
    return fmt::format("#   Rank  0 Pid   1320 on {} device  0 [0x00] Tesla V100\n", host);
  };
  const std::string row = " 1310720000 327680000 float sum 3344.3 391.93 0.00 0e+00\n";
  const std::string titles = "# size count type redop time algbw busbw error\n";
  const Imported two =
      imported(settings + settings + rank("node1") + rank("node2") + titles + titles + row + row);
  EXPECT_THAT(two.warnings, ElementsAre(HasSubstr("2 programs of one rank each, not one of 2")));
  EXPECT_THAT(note_of(two.records.at(0), "flag"), HasSubstr("built without MPI"));
  const Imported one = imported(settings + rank("node1") + titles + row);
  EXPECT_THAT(one.warnings, ElementsAre(HasSubstr("one rank alone communicates with none")));
}

TEST(ImportNccl, TimeStampsMayComeFirst) {
  const std::string titles =
      "#   timestamp   size   count   type  redop  root   time  algbw  busbw #wrong   time  algbw  "
      "busbw #wrong\n";
  const Imported result = imported(
      titles +
      " 2025-10-14 10:00:00  17179869184 1073741824 float none -1 19600.0 876.52 657.39 0 "
      "19610.0 876.08 657.06 N/A\n"
      " 2025-10-14 10:01:00  17179869184 1073741824 float none -1 19601.0 876.48 657.36\n");
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(result.records[0].time, "2025-10-14T10:00:00");
  EXPECT_EQ(metric_of(result.records[1], "busbw").value, 657.06e9);
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("line 3: the row is truncated")));
}

TEST(ImportNccl, ASecondHeaderOrASeparatorBeginsARun) {
  const std::string table =
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
      "        1024           256     float     sum      -1    10.50    0.10    0.10       0\n";
  const Imported headers = imported(table + table);
  ASSERT_EQ(headers.records.size(), 2u);
  EXPECT_NE(headers.records[0].run, headers.records[1].run);
  const Imported separated =
      imported(table + "===== sendrecv, 8 GPUs =====\n" + table.substr(table.find('\n') + 1));
  ASSERT_EQ(separated.records.size(), 2u);
  EXPECT_NE(separated.records[0].run, separated.records[1].run);
  EXPECT_EQ(separated.records[1].cell.text("op"), "send_recv");
}

}  // namespace
}  // namespace assay
