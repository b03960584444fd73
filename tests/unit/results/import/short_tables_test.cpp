// Programs that print a short table, and new outputs of programs whose others are read elsewhere.
#include <gmock/gmock.h>

#include <algorithm>

#include "unit/import_samples.h"
#include "unit/import_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ImportShortTables, CudasBandwidthTest) {
  const Imported result = imported(cuda_bandwidth_sample);
  EXPECT_EQ(value_of(result, "peer op=h2d memory=pinned size=31250KiB", "bandwidth"), 25.5e9);
  EXPECT_EQ(value_of(result, "peer op=d2d size=31250KiB", "bandwidth"), 155.5e9);
  // Its MB are 2^20 bytes.
  EXPECT_EQ(value_of(result, "peer op=d2h memory=pinned size=32MiB", "bandwidth"),
            9580.5 * 1048576);
  EXPECT_EQ(result.records[0].device.name, "Tesla K80");
}

TEST(ImportShortTables, GenaiPerfsConsole) {
  const Imported result = imported(genai_perf_sample);
  ASSERT_THAT(result.records, SizeIs(1));
  const Record& record = result.records[0];
  EXPECT_EQ(metric_of(record, "mean_e2el").value, 4.1105);
  EXPECT_EQ(metric_of(record, "p75_e2el").value, 4.6265);
  EXPECT_EQ(metric_of(record, "output_token_throughput").value, 80.25);
  EXPECT_EQ(metric_of(record, "request_throughput").unit, "1/s");
  EXPECT_EQ(record.source->tool, "genai-perf");
}

TEST(ImportShortTables, AQuoteInGenaiPerfsConsoleSwallowsNoLine) {
  std::string text(genai_perf_sample);
  text.insert(text.find("│     Num output token │"), "│ Odd latency (ms) │ 1 │ 2 │ 3\" │\n");
  const Imported result = imported(text);
  ASSERT_THAT(result.records, SizeIs(1));
  EXPECT_THAT(result.warnings, testing::IsEmpty());
  const auto& metrics = result.records[0].metrics;
  EXPECT_EQ(std::ranges::count(metrics, 331, &Metric::value), 1) << "of the row after it";
}

TEST(ImportShortTables, GoogleBenchmarksCsv) {
  const Imported result = imported(google_csv_sample);
  ASSERT_THAT(result.records, SizeIs(3));
  const Record& copy = record_of(result, "google_benchmark name=BM_Copy/64");
  EXPECT_EQ(metric_of(copy, "real_time").value, 12.5e-9);
  EXPECT_EQ(metric_of(copy, "bytes_per_second").unit, "bytes/s");
  EXPECT_EQ(metric_of(copy, "invtime").value, 20.125);
  EXPECT_EQ(copy.time, "2020-06-09T17:58:03");
  const Record& cv = record_of(result, "google_benchmark name=BM_Copy/64 aggregate=cv");
  EXPECT_EQ(metric_of(cv, "real_time").value, 0.05);
  EXPECT_EQ(result.records[2].reason, "no file");
}

TEST(ImportShortTables, HipBusBandwidth) {
  const Imported result = imported(hip_bus_sample);
  EXPECT_EQ(value_of(result, "peer test=h2d_bandwidth_pinned size=1MiB", "bandwidth"), 16.5e9);
  EXPECT_EQ(value_of(result, "peer test=h2d_bandwidth_pinned size=1MiB", "min_bandwidth"), 16e9);
  EXPECT_DOUBLE_EQ(value_of(result, "peer test=h2d_timepinned size=64", "time"), 24.5e-6);
  EXPECT_EQ(metric_of(result.records[0], "bandwidth").better, Better::neither);  // 0.0000
}

TEST(ImportShortTables, InferenceX) {
  const Imported result = imported(inferencex_sample);
  const Record& record = record_of(
      result, "serving conc=32 model=m/K framework=vllm precision=int4 isl=8192 osl=1024 tp=8");
  EXPECT_EQ(metric_of(record, "output_throughput_per_gpu").value, 17.5);
  EXPECT_EQ(metric_of(record, "output_throughput_per_gpu").better, Better::higher);
  EXPECT_EQ(metric_of(record, "mean_ttft").value, 2.5);
  EXPECT_EQ(metric_of(record, "p99_9_ttft").value, 15.5);
  EXPECT_EQ(record.device.name, "mi355x");
}

TEST(ImportShortTables, LlamasOtherTables) {
  const Imported batched = imported(llama_batched_sample);
  const Record& record = record_of(batched, "llama_batched_bench pp=4096 tg=128 b=2");
  EXPECT_EQ(metric_of(record, "s_tg_rate").value, 12.64);
  EXPECT_EQ(note_of(record, "n_batch"), "2048");
  const Imported compared = imported(llama_compare_sample);
  const std::string cell =
      "llama_bench gpu=MI100 model=gemma_2B_Q4_0 microbatch_size=1 test=pp512@d16384 version=";
  EXPECT_EQ(value_of(compared, cell + "master", "avg_ts"), 231.5);
  EXPECT_EQ(value_of(compared, cell + "56ac96f", "avg_ts"), 233.25);
}

TEST(ImportShortTables, MiopenDriver) {
  const Imported result = imported(miopen_sample);
  EXPECT_THAT(result.warnings, IsEmpty());
  const Record& record = record_of(
      result,
      "miopen function=conv n=1 c=3 upper_h=224 upper_w=224 k=64 y=3 x=3 p=1 q=1 u=1 v=1 l=1 j=1 "
      "m=conv g=1 upper_f=1 kernel=forward_conv");
  EXPECT_EQ(metric_of(record, "time").value, 0.056875e-3);
  EXPECT_EQ(metric_of(record, "flops").value, 3049e9);
  EXPECT_EQ(note_of(record, "algorithm"), "fwd-conv3x3u1");
  const Imported failed =
      imported(std::string(miopen_sample) + "Forward Convolution FAILED: 0.5\n");
  EXPECT_EQ(failed.records[0].status, RecordStatus::failed);
}

TEST(ImportShortTables, HalvesOfMscclppAreToldByTheirColumns) {
  const Imported result = imported(mscclpp_sample);
  EXPECT_EQ(value_of(result, "collective op=unknown library=mscclpp place=out size=1GiB", "busbw"),
            130.75e9);
  const Record& wrong =
      record_of(result, "collective op=unknown library=mscclpp place=in size=2GiB");
  EXPECT_EQ(metric_of(wrong, "busbw").value, 134.25e9);
  EXPECT_EQ(wrong.reason, "2 wrong elements");
}

TEST(ImportShortTables, SuperBenchsProgramsRunAlone) {
  const Imported copies = imported(gpu_copy_sample);
  EXPECT_THAT(cells_of(copies), ElementsAre("peer scope=gpu_copy path=cpu_to_gpu0 exe=sm numa=0",
                                            "peer scope=gpu_copy path=gpu0_to_gpu1_write exe=dma",
                                            "peer scope=gpu_copy path=gpu0_and_gpu1_read exe=sm"));
  EXPECT_EQ(copies.records[1].metrics[0].value, 279.25e9);
  const Imported streams = imported(gpu_stream_sample);
  EXPECT_EQ(value_of(streams, "memory op=triad dtype=f64 gpu=0 block=1024 size=4GiB", "bandwidth"),
            6730.5e9);
  EXPECT_EQ(streams.records[0].device.name, "NVIDIA Graphics Device");
}

TEST(ImportShortTables, Ucc) {
  const Imported result = imported(ucc_sample);
  const Record& record =
      record_of(result, "ucc op=all_to_all dtype=f32 redop=none place=out memory=cuda size=256KiB");
  EXPECT_DOUBLE_EQ(metric_of(record, "mean_time").value, 76.5e-6);
  EXPECT_EQ(metric_of(record, "mean_bandwidth").value, 24e9);
  EXPECT_EQ(metric_of(record, "mean_bandwidth").better, Better::higher);
  EXPECT_EQ(metric_of(record, "min_time").better, Better::neither);
}

TEST(ImportShortTables, AiperfOf2025HasItsMetricsInAMember) {
  const Imported result =
      imported(R"({"records":{"ttft":{"unit":"ms","avg":2343.5,"p50":2369.25,"std":1.5},)"
               R"("request_count":{"unit":"requests","avg":89.0},)"
               R"("request_latency":{"unit":"ms","avg":9059.5,"p50":9097.5},)"
               R"("output_token_throughput":{"unit":"tokens/sec","avg":2320.5}},)"
               R"("input_config":{"loadgen":{"concurrency":100}},"was_cancelled":false})");
  const Record& record = record_of(result, "serving concurrency=100");
  EXPECT_EQ(metric_of(record, "mean_ttft").value, 2.3435);
  EXPECT_EQ(record.metrics.front().name, "output_token_throughput");
}

TEST(ImportShortTables, MadsRowsOfSeveralMetrics) {
  const Imported result = imported(
      "hf_pipeline_tag,model,benchmark,tp,inp,out,max_concurrency,cmd,performance,metric,unit\n"
      ",K3,serving,8,8192,1024,1,\"a;b\",68.25,throughput_tot,tok/sec\n"
      ",K3,serving,8,8192,1024,1,\"a;b\",528.5,median_ttft,ms\n");
  EXPECT_EQ(result.format, "mad");
  const std::string cell =
      "mad model=K3 benchmark=serving tp=8 inp=8192 out=1024 max_concurrency=1 ";
  EXPECT_EQ(metric_of(record_of(result, cell + "metric=throughput_tot"), "throughput_tot").unit,
            "tokens/s");
  EXPECT_EQ(value_of(result, cell + "metric=median_ttft", "median_ttft"), 0.5285);
  const auto headless = import_text({"1,2\nmodel,performance,metric\n", "x.csv"}, "mad");
  ASSERT_FALSE(headless.ok());
  EXPECT_THAT(headless.error().message, HasSubstr("x.csv:1: a row before the header"));
}

TEST(ImportShortTables, NcclJsonWithRowsNamedByTheirSizes) {
  const std::string text =
      "NCCL version 2.26.6\n"
      R"({"identifier": "nccl-tests structured output", "version": "2.26.6", "benchmark": [)"
      R"({"33554432": {"count": 1048576, "type": "float", "redop": "none", "root": "-1",)"
      R"( "oop_time": 1494.25, "oop_algbw": 22.46, "oop_busbw": 19.65, "oop_error": 0.0,)"
      R"( "ip_time": 1459.5, "ip_algbw": 22.99, "ip_busbw": 20.12, "ip_error": "N/A"}}]})";
  const Imported result = imported(text);
  EXPECT_EQ(result.format, "nccl-tests-json");
  EXPECT_EQ(
      value_of(result, "collective op=unknown dtype=f32 redop=none place=in ranks=8 size=32MiB",
               "busbw"),
      20.12e9);
  EXPECT_EQ(imported(text, "all_gather.json").records[0].cell.text("op"), "all_gather");
  EXPECT_EQ(imported(text, "all_reduce.json").records[0].cell.text("op"), "unknown");
}

}  // namespace
}  // namespace assay
