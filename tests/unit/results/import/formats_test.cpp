// The importers of bandwidth and suite programs, each on a small text of its format.
#include <gmock/gmock.h>

#include "unit/import_samples.h"
#include "unit/import_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ImportPerftest, UnitsComeFromTheHeader) {
  const Imported result = imported(perftest_sample);
  ASSERT_EQ(result.records.size(), 2u);
  const Record& record = record_of(result, "rdma op=write direction=one qps=4 size=64KiB");
  EXPECT_EQ(metric_of(record, "bandwidth").value, 21167.79 * 1048576);
  EXPECT_EQ(metric_of(record, "peak_bandwidth").value, 23330.56 * 1048576);
  EXPECT_EQ(metric_of(record, "message_rate").value, 0.338685 * 1e6);
  EXPECT_EQ(note_of(record, "tx_depth"), "128");
  EXPECT_EQ(note_of(record, "iterations"), "20000");
  // A peak of 0.00 means that it was not measured.
  EXPECT_EQ(record_of(result, "rdma op=write direction=one qps=4 size=128KiB").metrics.size(), 2u);
}

TEST(ImportPerftest, RowsThatAreCutOrHaveNoUnitAreNamed) {
  const Imported result = imported(std::string(perftest_sample) + " 262144     200\n");
  EXPECT_EQ(result.records.size(), 2u);
  EXPECT_THAT(result.warnings, ElementsAre("line 11: the row is truncated, skipped"));
  const auto furlongs = import_text(
      {"#bytes #iterations BW peak[furlong] BW average[furlong]\n 2 5000 1.0 1.0 1.0\n", "x"}, "");
  ASSERT_FALSE(furlongs.ok());
  EXPECT_THAT(furlongs.error().message,
              HasSubstr("line 1: a table without a known bandwidth unit"));
}

TEST(ImportPerftest, JsonHasNoUnitButItsRateTellsIt) {
  const Imported result = imported(perftest_json_sample);
  const Record& record = record_of(result, "rdma op=write direction=both qps=2 size=64KiB");
  EXPECT_EQ(metric_of(record, "bandwidth").value, 140.88 * 1.25e8);
  EXPECT_THAT(note_of(record, "unit"), HasSubstr("Gb/sec"));
  std::string mebibytes(perftest_json_sample);
  mebibytes.replace(mebibytes.find("140.88"), 6, "16794.4");
  EXPECT_EQ(
      value_of(imported(mebibytes), "rdma op=write direction=both qps=2 size=64KiB", "bandwidth"),
      16794.4 * 1048576);
}

TEST(ImportTransferBench, BoxesExecutorsTransfersAndMatrices) {
  const Imported result = imported(transferbench_sample);
  EXPECT_THAT(result.warnings, IsEmpty());
  ASSERT_EQ(result.records.size(), 10u);
  const Record& executor =
      record_of(result, "peer scope=executor test=1 exe=Rank_0_GPU_00 size=64MiB");
  EXPECT_EQ(metric_of(executor, "bandwidth").value, 90.123e9);
  EXPECT_EQ(metric_of(executor, "bandwidth").text, "90.123 GB/s");
  EXPECT_EQ(metric_of(executor, "sum_bandwidth").value, 91e9);
  EXPECT_EQ(executor.source->version, "1.66.02");
  const std::string transfer = "peer scope=transfer test=1 src=F0 exe=G0 units=8 dst=F2 size=32MiB";
  EXPECT_DOUBLE_EQ(value_of(result, transfer, "time"), 0.737e-3);
  const Record& sum = record_of(result, "peer scope=aggregate test=1 size=64MiB");
  EXPECT_DOUBLE_EQ(metric_of(sum, "overhead").value, -0.01e-3);
  EXPECT_EQ(metric_of(sum, "overhead").text, "-0.010 ms");
  EXPECT_EQ(sum.status, RecordStatus::passed);  // an overhead may be negative
  EXPECT_EQ(
      value_of(result, "peer scope=p2p src=gpu0 dst=gpu0 direction=to size=64MiB", "bandwidth"),
      1570.10e9);
}

TEST(ImportTransferBench, Csv) {
  const Imported result = imported(
      "Test#,Transfer#,NumBytes,Src,Exe,Dst,CUs,BW(GB/s),Time(ms),SrcAddr,DstAddr\n"
      "1,0,67108864,G0,G00,G1,4,45.123,1.487,0x1,0x2\n"
      "1,ALL,67108864,ALL,ALL,ALL,ALL,44.000,1.525,ALL,ALL\n"
      "Executor: GPU 00,315.552 GB/s,1.489 ms,469762048 bytes,326.317 GB/s (sum)\n");
  ASSERT_EQ(result.records.size(), 3u) << testing::PrintToString(result.warnings);
  EXPECT_EQ(value_of(result, "peer scope=transfer test=1 src=G0 exe=G0 dst=G1 units=4 size=64MiB",
                     "bandwidth"),
            45.123e9);
  EXPECT_DOUBLE_EQ(value_of(result, "peer scope=aggregate test=1 size=64MiB", "time"), 1.525e-3);
  // Newer versions print their table with commas under that header.
  EXPECT_EQ(value_of(result, "peer scope=executor test=0 exe=GPU_00 size=448MiB", "bandwidth"),
            315.552e9);
}

TEST(ImportTransferBench, RowsWithImpossibleNumbersAreNamed) {
  const Imported result =
      imported(std::string(transferbench_sample) +
               "Executor: GPU 01 | 90.1 GB/s | 0.7 ms | 6.71e82 bytes | 91.0 GB/s (sum)\n"
               "Executor: GPU 02 | 90.1 GB/s | 0.7 ms | -8 bytes | 91.0 GB/s (sum)\n"
               "Executor: GPU 03 | 90.1 GB/s | 0.7 ms | 67\n");
  EXPECT_EQ(result.records.size(), 10u);
  EXPECT_EQ(result.warnings.size(), 3u);
}

TEST(ImportTransferBench, WithinANewerRocmBandwidthTest) {
  const Imported result =
      imported("rocm_bandwidth_test run tb a2a\nRocmBandwidthTest Version: 3.0\n" +
               std::string(transferbench_sample));
  EXPECT_EQ(result.format, "transferbench");
  EXPECT_EQ(result.records.size(), 10u);
}

TEST(ImportTransferBench, MismatchesFailTheRun) {
  const Imported result = imported(std::string(transferbench_sample) +
                                   "[ERROR] Transfer 0: Unexpected mismatch at index 3 of dst 0\n");
  EXPECT_EQ(result.records.front().status, RecordStatus::failed);
  EXPECT_THAT(result.records.front().reason, HasSubstr("mismatch at index 3"));
}

TEST(ImportNvbandwidth, MatricesLatenciesAndSums) {
  const Imported result = imported(nvbandwidth_sample);
  ASSERT_EQ(result.records.size(), 8u);
  const std::string read = "peer op=device_to_device_bidirectional_memcpy_read_ce_read1";
  EXPECT_EQ(value_of(result, read + " row=1 column=0", "bandwidth"), 181.10e9);
  EXPECT_EQ(value_of(result, read + " scope=sum", "bandwidth"), 362e9);
  EXPECT_EQ(value_of(result, read + " scope=min", "bandwidth"), 180.90e9);
  const Record& latency = record_of(result, "peer op=host_device_latency_sm row=0 column=1");
  EXPECT_DOUBLE_EQ(metric_of(latency, "latency").value, 701.20e-9);
  EXPECT_EQ(metric_of(latency, "latency").better, Better::lower);
  EXPECT_EQ(latency.device.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(record_of(result, "peer op=multinode_device_to_device_memcpy_read_ce").status,
            RecordStatus::unsupported);
}

TEST(ImportNvbandwidth, Json) {
  const Imported result = imported(nvbandwidth_json_sample);
  ASSERT_EQ(result.records.size(), 8u);
  const Metric& pair = metric_of(
      record_of(result, "peer op=device_to_device_memcpy_read_ce row=0 column=1"), "bandwidth");
  EXPECT_EQ(pair.value, 369.36e9);
  EXPECT_EQ(pair.text, "369.36");
  EXPECT_EQ(value_of(result, "peer op=device_to_device_memcpy_read_ce scope=sum", "bandwidth"),
            738.76e9);
  EXPECT_EQ(record_of(result, "peer op=multinode_bisect").status, RecordStatus::unsupported);
  EXPECT_EQ(record_of(result, "peer op=device_local_copy").status, RecordStatus::error);
}

TEST(ImportRocmBandwidthTest, MatricesOfAllPairs) {
  const Imported result = imported(rocm_sample);
  ASSERT_EQ(result.records.size(), 2u);  // access and NUMA distance are not measurements
  EXPECT_EQ(value_of(result, "peer direction=both src=0 dst=1", "peak_bandwidth"), 55.123e9);
  EXPECT_EQ(result.records[0].device.name, "AMD Instinct MI300X");
}

TEST(ImportBabelStream, TheUnitOfVersion5AndTheSizeThatRoundsToIt) {
  const Imported result = imported(babelstream_sample);
  ASSERT_EQ(result.records.size(), 2u);
  const Record& copy = record_of(result, "memory op=copy dtype=f32 size=1GiB");
  EXPECT_EQ(metric_of(copy, "bandwidth").value, 4012.345e9);
  EXPECT_EQ(metric_of(copy, "min_time").value, 0.00054);
  EXPECT_EQ(copy.device.name, "AMD Instinct MI300X");
  EXPECT_EQ(note_of(copy, "array_size"), "1073.7 MB (=1.1 GB)");
}

TEST(ImportBabelStream, Csv) {
  const Imported result = imported(babelstream_csv_sample);
  EXPECT_EQ(value_of(result, "memory op=copy dtype=f64 size=1GiB", "bandwidth"),
            3725.29 * 1073741824);
  const Imported old = imported(
      "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_"
      "runtime\n"
      "Triad,100,33554432,8,436491.299,0.00184,0.00186,0.00185\n"
      "phase,n_elements,sizeof,max_mbytes_per_sec,runtime\nInit,33554432,8,1000.0,0.001\n");
  ASSERT_EQ(old.records.size(), 1u);
  EXPECT_EQ(value_of(old, "memory op=triad dtype=f64 size=256MiB", "bandwidth"), 436491.299e6);
}

TEST(ImportLlamaBench, EveryOutput) {
  const Imported json = imported(llama_sample);
  const Record& prompt =
      record_of(json,
                "llama_bench model=llama_7B_Q4_0 test=pp512 n_batch=2048 n_ubatch=512 n_threads=8 "
                "n_gpu_layers=99 split_mode=layer type_k=f16 type_v=f16 flash_attn=false");
  EXPECT_EQ(metric_of(prompt, "avg_ts").value, 7529.411765);
  EXPECT_EQ(metric_of(prompt, "avg_ts").unit, "tokens/s");
  EXPECT_EQ(metric_of(prompt, "time").value, 0.068);
  EXPECT_EQ(prompt.time, "2026-01-02T03:04:05Z");
  EXPECT_EQ(prompt.device.name, "AMD Instinct MI300X");
  EXPECT_EQ(value_of(json, "llama_bench model=llama_7B_Q4_0 test=tg128 n_depth=512", "avg_ts"),
            128);
  const Imported csv = imported(llama_csv_sample);
  EXPECT_EQ(value_of(csv, "llama_bench model=llama_7B_Q4_0 test=pp512 n_batch=2048", "avg_ts"),
            7529.411765);
  EXPECT_EQ(note_of(csv.records.at(0), "cpu_info"), "AMD EPYC, 64 cores");
  const Imported sql = imported(llama_sql_sample);
  EXPECT_EQ(value_of(sql, "llama_bench model=llama_7B_Q4_0 test=tg128", "avg_ts"), 128);
  EXPECT_EQ(sql.records.at(0).device.name, "NVIDIA H100, one");
  const Imported table = imported(llama_markdown_sample);
  const Record& row = record_of(table, "llama_bench model=llama_7B_mostly_Q4_0 ngl=99 test=pp512");
  EXPECT_EQ(metric_of(row, "avg_ts").value, 2368.80);
  EXPECT_EQ(metric_of(row, "stddev_ts").value, 93.24);
  EXPECT_EQ(row.source->version, "8cf427ff (5163)");
}

TEST(ImportLlamaBench, UnusualSettingsMakeOtherCells) {
  const auto cell = [](const std::string& settings) {
    return imported("{\"model_type\":\"m\"," + settings +
                    "\"n_prompt\":0,\"n_gen\":128,\"avg_ns\":1,\"avg_ts\":128.5}")
        .records.at(0)
        .cell.id();
  };
  EXPECT_EQ(cell("\"no_kv_offload\":false,\"use_mmap\":true,\"tensor_split\":\"0.00\","),
            "llama_bench model=m test=tg128");
  EXPECT_EQ(cell("\"no_kv_offload\":true,\"use_mmap\":false,\"tensor_split\":\"1/2\","),
            "llama_bench model=m test=tg128 no_kv_offload=true tensor_split=1/2 use_mmap=false");
}

TEST(ImportSuperBench, KeysAreTakenApartAndReturnCodesJudge) {
  const Imported result = imported(superbench_sample);
  ASSERT_EQ(result.records.size(), 8u);
  EXPECT_NE(result.records.front().run, result.records.back().run);  // one run for each node
  EXPECT_EQ(note_of(result.records.back(), "hosts"), "node-2");
  EXPECT_EQ(
      value_of(result, "superbench benchmark=kernel-launch metric=event_time rank=1", "value"),
      0.0061);
  const Record& copy =
      record_of(result, "superbench benchmark=gpu-copy-bw:perf metric=gpu0_to_gpu1_bw repeat=0");
  EXPECT_EQ(copy.status, RecordStatus::failed);
  EXPECT_EQ(copy.reason, "gpu-copy-bw:perf ended with return code 33");
  EXPECT_EQ(metric_of(copy, "value").better, Better::higher);
  EXPECT_EQ(metric_of(result.records.front(), "value").better, Better::lower);
}

TEST(ImportMad, PerformanceWithItsUnitAndFailures) {
  const Imported result = imported(mad_sample);
  const Record& bert =
      record_of(result, "mad model=pyt_huggingface_bert n_gpus=8 precision=fp16 args=--a_1");
  EXPECT_EQ(metric_of(bert, "performance").value, 1234.5);
  EXPECT_EQ(metric_of(bert, "performance").unit, "1/s");
  EXPECT_EQ(bert.device.name, "gfx942");
  EXPECT_EQ(note_of(bert, "tags"), "pyt,bert");
  const Record& llama = record_of(result, "mad model=pyt_vllm_llama n_gpus=8 precision=fp16");
  EXPECT_EQ(llama.status, RecordStatus::failed);
  EXPECT_EQ(llama.reason, "the run says FAILURE");
  EXPECT_THAT(llama.metrics, IsEmpty());
}

TEST(ImportMad, RowsThatDoNotFitTheirNamesAreNamed) {
  const Imported result = imported(std::string(mad_sample) + "shifted,8,fp16\n");
  EXPECT_EQ(result.records.size(), 2u);
  EXPECT_THAT(result.warnings, ElementsAre("line 4: 3 values under 19 names, skipped"));
}

TEST(ImportGoogleBenchmark, RepetitionsAggregatesCountersAndErrors) {
  const Imported result = imported(google_sample);
  const Record& first =
      record_of(result, "google_benchmark name=BM_Copy/64/threads:2 repetition=0");
  EXPECT_DOUBLE_EQ(metric_of(first, "real_time").value, 12.5e-9);
  EXPECT_EQ(metric_of(first, "bytes_per_second").value, 5.12e9);
  EXPECT_EQ(metric_of(first, "bytes_per_second").text, "5.12e9");
  EXPECT_EQ(metric_of(first, "hits").value, 3.5);
  EXPECT_EQ(first.time, "2026-01-02T03:04:05Z");
  const Record& variation =
      record_of(result, "google_benchmark name=BM_Copy/64/threads:2 aggregate=cv");
  EXPECT_EQ(metric_of(variation, "real_time").unit, "1");
  EXPECT_EQ(metric_of(variation, "real_time").value, 0.05);
  EXPECT_EQ(record_of(result, "google_benchmark name=BM_Bad").status, RecordStatus::error);
  EXPECT_EQ(record_of(result, "google_benchmark name=BM_Bad").reason, "no file");
}

TEST(ImportGoogleBenchmark, CountersWithoutANameAreLeftOut) {
  const Imported result = imported(
      R"({"benchmarks":[{"name":"a","real_time":1.5,"time_unit":"us","":2,"!!":3,"ok":4}]})");
  ASSERT_EQ(result.records.size(), 1u);
  EXPECT_EQ(result.records[0].metrics.size(), 2u);
}

TEST(ImportPytestBenchmark, TheMedianIsJudgedInSecondsOfACall) {
  const Imported result = imported(pytest_benchmark_sample);
  ASSERT_EQ(result.records.size(), 2u);
  const Record& sum = record_of(result, "pytest_benchmark name=test_sums.py::test_sum[1000]");
  EXPECT_EQ(metric_of(sum, "median").value, 8.705996151547879e-06);
  EXPECT_EQ(metric_of(sum, "median").unit, "s");
  EXPECT_EQ(metric_of(sum, "median").better, Better::lower);
  EXPECT_EQ(metric_of(sum, "mean").better, Better::neither);
  EXPECT_EQ(sum.time, "2026-11-30T01:44:16Z");
  EXPECT_EQ(imported(R"({"benchmarks":[{"fullname":"a","stats":{"rounds":0}}]})").records[0].status,
            RecordStatus::error);
}

TEST(ImportNvbench, AxesWithoutANameHaveOne) {
  std::string text(nvbench_sample);
  text.replace(text.find("\"T{ct}\""), 7, "\"\"");
  EXPECT_EQ(record_of(imported(text), "nvbench name=copy none=I32 elements_io=1048576").status,
            RecordStatus::passed);
}

TEST(ImportNvbench, SummariesAndSkips) {
  const Imported result = imported(nvbench_sample);
  const Record& copy = record_of(result, "nvbench name=copy t_ct=I32 elements_io=1048576");
  EXPECT_EQ(copy.metrics.front().name, "bandwidth");
  EXPECT_EQ(metric_of(copy, "bandwidth").value, 3e12);
  EXPECT_DOUBLE_EQ(metric_of(copy, "gpu_time").value, 6.25e-05);
  EXPECT_EQ(metric_of(copy, "cold_sample_size").value, 1000);
  EXPECT_EQ(copy.device.name, "NVIDIA H100");
  const Record& skipped = record_of(result, "nvbench name=copy t_ct=F64");
  EXPECT_EQ(skipped.status, RecordStatus::unsupported);
  EXPECT_EQ(skipped.reason, "not enough memory");
}

std::string perftest_side(std::string_view local, std::string_view remote, std::string_view rows) {
  return "                    RDMA_Write BW Test\n local address: LID 0x01 QPN " +
         std::string(local) + " PSN 0x1\n remote address: LID 0x01 QPN " + std::string(remote) +
         " PSN 0x1\n"
         " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n" +
         std::string(rows);
}

TEST(ImportPerftest, BothSidesOfAConnectionCountOnce) {
  const std::string server = perftest_side("0x10", "0x20", " 65536 5000 97.50 97.25 0.185\n");
  const std::string client = perftest_side("0x20", "0x10", " 65536 5000 97.25 97.00 0.184\n");
  const std::string other = perftest_side("0x30", "0x40", " 65536 5000 97.25 97.00 0.184\n");
  const Imported one = imported(server + client);
  ASSERT_EQ(one.records.size(), 1u);
  EXPECT_EQ(metric_of(one.records[0], "bandwidth").text, "97.25");
  EXPECT_THAT(one.warnings, testing::ElementsAre(testing::HasSubstr("the other side")));
  EXPECT_EQ(imported(server + other + client).records.size(), 2u);
  EXPECT_EQ(imported(server + other).records.size(), 2u);
}

TEST(ImportPerftest, LatencyTables) {
  const Imported result = imported(
      "                    RDMA_Read Latency Test\n Device         : mlx5_0\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
      "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
      "Conflicting CPU frequency values detected: 2400.000000 != 1873.463000.\n"
      " 2       1000          1.75           6.25         1.80                1.85             "
      "0.05            1.90                    6.00\n"
      " 4       1000          1.75  \n");
  ASSERT_EQ(result.records.size(), 1u);
  const Record& record = record_of(result, "rdma op=read test=latency size=2");
  EXPECT_EQ(record.metrics.front().name, "median_latency");
  EXPECT_DOUBLE_EQ(metric_of(record, "median_latency").value, 1.8e-6);
  EXPECT_EQ(metric_of(record, "mean_latency").value, 1.85e-6);
  EXPECT_DOUBLE_EQ(metric_of(record, "p99_latency").value, 1.9e-6);
  EXPECT_EQ(metric_of(record, "p99_9_latency").value, 6e-6);
  EXPECT_EQ(metric_of(record, "max_latency").value, 6.25e-6);
  EXPECT_EQ(note_of(record, "device"), "mlx5_0");
  EXPECT_THAT(result.warnings, testing::ElementsAre("line 6: the row is truncated, skipped"));
  const Imported timed = imported(
      "                    Send Latency Test\n"
      " #bytes        #iterations       t_avg[usec]    tps average\n"
      " 2             500000            1.25           799680.50\n");
  const Record& rate = record_of(timed, "rdma op=send test=latency size=2");
  EXPECT_EQ(metric_of(rate, "mean_latency").value, 1.25e-6);
  EXPECT_EQ(metric_of(rate, "transaction_rate").value, 799680.5);
  const Imported json = imported(
      "{\"test_info\":{\"test\":\"RDMA_Write Latency Test\"},\"results\":{\"MsgSize\":2,"
      "\"n_iterations\":1000,\"t_min\":1.75,\"t_typical\":1.8,\"t_avg\":1.85,"
      "\"percentile_99\":1.9}}");
  EXPECT_DOUBLE_EQ(value_of(json, "rdma op=write test=latency size=2", "p99_latency"), 1.9e-6);
}

}  // namespace
}  // namespace assay
