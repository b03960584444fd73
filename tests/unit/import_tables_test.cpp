// Tables that other programs print, each in its exact layout.
#include <gmock/gmock.h>

#include "import_samples.h"
#include "import_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> cells_of(const Imported& imported) {
  std::vector<std::string> cells;
  for (const Record& record : imported.records) cells.push_back(record.cell.id());
  return cells;
}

TEST(ImportOsu, EachTestIsARun) {
  const Imported result = imported(osu_sample);
  EXPECT_THAT(result.warnings, IsEmpty());
  EXPECT_THAT(cells_of(result),
              ElementsAre("osu test=allreduce_latency memory=rocm size=4",
                          "osu test=allreduce_latency memory=rocm size=1MiB",
                          "osu test=bandwidth send=device receive=host size=4KiB",
                          "osu test=bandwidth send=device receive=host size=4MiB",
                          "osu test=multiple_bandwidth_message_rate pairs=2 size=1",
                          "osu test=barrier_latency"));
  const Record& first = result.records[0];
  EXPECT_EQ(metric_of(first, "mean_latency").value, 11.75e-6);
  EXPECT_EQ(metric_of(first, "max_latency").text, "12.50");
  EXPECT_EQ(note_of(first, "iterations"), "1000");
  EXPECT_EQ(note_of(first, "datatype"), "MPI_INT.");
  EXPECT_EQ(first.source->version, "7.5");
  EXPECT_EQ(metric_of(result.records[2], "bandwidth").value, 6028.5e6);
  EXPECT_EQ(result.records[3].status, RecordStatus::failed);
  EXPECT_EQ(result.records[3].reason, "its validation says Fail");
  EXPECT_EQ(metric_of(result.records[4], "message_rate").value, 7790845.25);
  EXPECT_EQ(metric_of(result.records[5], "mean_latency").value, 12.5e-6);
}

TEST(ImportOsu, NumbersBelowATableAreNoRows) {
  const Imported result = imported(
      "# OSU MPI Latency Test v5.3\n# Size          Latency (us)\n0 1.5\n8 1.75\n"
      "4 0\n16 2.0\n32\n");
  EXPECT_THAT(cells_of(result), ElementsAre("osu test=latency size=0", "osu test=latency size=8",
                                            "osu test=latency size=16"));
  EXPECT_THAT(result.warnings, ElementsAre("line 7: the row is truncated, skipped"));
}

TEST(ImportStream, RatesAreDecimalMegabytes) {
  const Imported result = imported(stream_sample);
  const std::string cell = "memory op=triad dtype=f64 size=1GiB threads=96";
  EXPECT_EQ(value_of(result, cell, "bandwidth"), 718799.0e6);
  EXPECT_EQ(value_of(result, cell, "min_time"), 0.014360);
  EXPECT_EQ(result.records[0].source->version, "5.10");
  EXPECT_EQ(result.records[0].status, RecordStatus::passed);
}

TEST(ImportStream, AFailedValidationFailsTheRun) {
  const Imported result = imported(
      "Function    Best Rate MB/s  Avg time     Min time     Max time\n"
      "Copy:          685041.5     0.010067     0.010045     0.010089\n"
      "Triad:         718799.0     0.014390\n"
      "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.0e-13)\n");
  ASSERT_THAT(result.records, SizeIs(1));
  EXPECT_EQ(result.records[0].status, RecordStatus::failed);
  EXPECT_THAT(result.records[0].reason, HasSubstr("Failed Validation on array a[]"));
  EXPECT_THAT(result.warnings, ElementsAre("line 3: the row is truncated, skipped"));
}

TEST(ImportMlc, MatricesMixesAndLoadedLatencies) {
  const Imported result = imported(mlc_sample);
  EXPECT_THAT(result.warnings, IsEmpty());
  EXPECT_THAT(result.records, SizeIs(15));
  const auto value = [&](std::string_view cell, std::string_view name) {
    return value_of(result, cell, name);
  };
  EXPECT_EQ(value("mlc test=idle_latency from=0 to=1", "latency"), 141e-9);
  EXPECT_EQ(value("mlc test=peak_bandwidth traffic=all_reads", "bandwidth"), 158844.5e6);
  EXPECT_EQ(value("mlc test=peak_bandwidth traffic=stream_triad_like", "bandwidth"), 128158.5e6);
  EXPECT_EQ(value("mlc test=node_bandwidth from=1 to=0", "bandwidth"), 34385.5e6);
  EXPECT_EQ(value("mlc test=loaded_latency delay=100", "latency"), 95.25e-9);
  EXPECT_EQ(value("mlc test=loaded_latency delay=100", "bandwidth"), 52000e6);
  EXPECT_EQ(value("mlc test=cache_to_cache_latency transfer=local_socket_l2_l2_hit", "latency"),
            45.5e-9);
  EXPECT_EQ(value("mlc test=cache_to_cache_latency "
                  "transfer=remote_socket_l2_l2_hitm_homed_in_writer from=0 to=1",
                  "latency"),
            112.5e-9);
  EXPECT_EQ(result.records[0].source->version, "3.11b");
}

TEST(ImportP2p, MatricesWithAndWithoutAccess) {
  const Imported result = imported(p2p_sample);
  EXPECT_THAT(result.records, SizeIs(16));
  EXPECT_EQ(value_of(result, "peer op=unidirectional p2p=disabled row=0 column=1", "bandwidth"),
            38.25e9);
  EXPECT_EQ(value_of(result, "peer op=bidirectional p2p=enabled row=1 column=0", "bandwidth"),
            742.5e9);
  EXPECT_EQ(value_of(result, "peer op=latency p2p=enabled timer=gpu row=0 column=1", "latency"),
            1.25e-6);
  EXPECT_EQ(value_of(result, "peer op=latency p2p=enabled timer=cpu row=0 column=1", "latency"),
            1.75e-6);
  EXPECT_EQ(result.records[0].device.name, "NVIDIA H100 80GB HBM3");
}

TEST(ImportGemmBench, CandidatesTheWinnerAndOptions) {
  const Imported result = imported(gemm_bench_sample);
  EXPECT_THAT(result.warnings, IsEmpty());
  ASSERT_THAT(result.records, SizeIs(4));
  const std::string problem =
      "blas library=hipblaslt transa=T transb=N m=4096 n=4096 k=8192 a_type=bf16_r b_type=bf16_r "
      "c_type=bf16_r d_type=bf16_r compute_type=f32_r lda=8192 ldb=8192 ldc=4096";
  EXPECT_EQ(value_of(result, problem + " candidate=0", "flops"), 1.25e15);
  EXPECT_EQ(value_of(result, problem + " candidate=1", "time"), 182.5e-6);
  const Record& winner = record_of(result, problem);
  EXPECT_EQ(metric_of(winner, "bandwidth").value, 800e9);
  EXPECT_EQ(note_of(winner, "winner"), "yes");
  EXPECT_EQ(note_of(result.records[0], "solution_index"), "302128");
  EXPECT_EQ(result.records[0].device.name, "AMD Instinct MI350X gfx950:sramecc+:xnack-");
  EXPECT_EQ(value_of(result,
                     "blas library=rocblas function=gemm precision=s transa=N transb=T m=4000 "
                     "n=4000 k=4000 lda=4000 ldb=4000 ldc=4000",
                     "flops"),
            97190.5e9);
}

TEST(ImportServingBlock, BlocksOfBothServers) {
  const Imported result = imported(serving_block_sample);
  EXPECT_THAT(result.warnings, IsEmpty());
  const Record& vllm =
      record_of(result, "serving request_rate=1.5 max_concurrency=25 num_prompts=302");
  EXPECT_EQ(vllm.metrics.front().name, "output_throughput");
  EXPECT_EQ(metric_of(vllm, "output_throughput").value, 172.5);
  EXPECT_EQ(metric_of(vllm, "mean_ttft").value, 1.9815);
  EXPECT_EQ(metric_of(vllm, "p99_ttft").text, "8935.75");
  EXPECT_EQ(metric_of(vllm, "mean_tpot").value, 0.0255);
  EXPECT_EQ(metric_of(vllm, "failed").value, 2);
  EXPECT_EQ(vllm.status, RecordStatus::passed);
  EXPECT_EQ(vllm.source->tool, "vllm bench serve");
  const Record& sglang =
      record_of(result, "serving request_rate=inf max_concurrency=none num_prompts=10");
  EXPECT_EQ(sglang.source->tool, "sglang.bench_serving");
  EXPECT_EQ(metric_of(sglang, "p90_e2el").value, 0.98325);
  EXPECT_EQ(sglang.reason, "no reply has a token");
  EXPECT_NE(vllm.run, sglang.run);
}

TEST(ImportServingBlock, ATruncatedBlockLosesItsLastNumber) {
  const Imported result = imported(
      "============ Serving Benchmark Result ============\n"
      "Successful requests:                     300       \n"
      "Mean TTFT (ms):                          1981.50   \n"
      "Median TTFT (ms):                        16");
  EXPECT_THAT(cells_of(result),
              ElementsAre("serving request_rate=unknown max_concurrency=unknown num_prompts=300"));
  EXPECT_THAT(result.records[0].metrics, SizeIs(2));
  EXPECT_THAT(result.warnings, ElementsAre("line 1: the block is truncated"));
}

TEST(ImportAiperfCsv, BothTablesAndTheFoldersLoad) {
  const Imported result =
      imported(aiperf_csv_sample, "artifacts/m-chat-concurrency16/profile_export_genai_perf.csv");
  ASSERT_THAT(result.records, SizeIs(1));
  const Record& record = result.records[0];
  EXPECT_EQ(record.cell.id(), "serving concurrency=16");
  EXPECT_EQ(record.source->tool, "genai-perf");
  EXPECT_EQ(record.metrics.front().name, "output_token_throughput");
  EXPECT_EQ(metric_of(record, "output_token_throughput").unit, "tokens/s");
  EXPECT_EQ(metric_of(record, "request_throughput").unit, "1/s");
  EXPECT_EQ(metric_of(record, "mean_ttft").value, 1.14625);
  EXPECT_EQ(metric_of(record, "median_e2el").value, 5.69);
  EXPECT_EQ(metric_of(record, "mean_output_sequence_length").value, 174.5);
  for (const Metric& metric : record.metrics)
    EXPECT_THAT(metric.name, testing::Not(HasSubstr("gpu")));
}

TEST(ImportGuidellmCsv, ThreeLinesOfColumnNames) {
  const Imported result = imported(guidellm_csv_sample);
  EXPECT_THAT(cells_of(result), ElementsAre("serving strategy=synchronous run_index=0",
                                            "serving strategy=constant run_index=1"));
  const Record& first = result.records[0];
  EXPECT_EQ(metric_of(first, "output_throughput").value, 61.25);
  EXPECT_EQ(metric_of(first, "mean_ttft").value, 0.0455);
  EXPECT_EQ(metric_of(first, "p99_e2el").value, 2.9);
  EXPECT_EQ(metric_of(first, "completed").value, 12);
  EXPECT_EQ(first.time, "2026-01-02T03:04:05");
  EXPECT_EQ(result.records[1].reason, "1 requests succeeded, 9 failed");
}

TEST(ImportGuidellmCsv, OneLineOfColumnNames) {
  const Imported result = imported(
      "Type,Run Id,Id,Name,Start Time,End Time,Duration,Successful Requests,"
      "Successful Requests per second mean,Successful Time to first token ms mean,"
      "\"Successful Time to first token ms [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]\","
      "Incomplete Requests,Errored Requests\n"
      "generative_benchmark,r,i,constant@5.50,2026-01-02 03:04:05,2026-01-02 03:05:05,60,50,5.25,"
      "45.5,\"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]\",1,0\n");
  EXPECT_THAT(cells_of(result),
              ElementsAre("serving strategy=constant request_rate=5.5 max_concurrency=none"));
  EXPECT_EQ(metric_of(result.records[0], "request_throughput").value, 5.25);
  EXPECT_EQ(metric_of(result.records[0], "p90_ttft").value, 0.008);
}

TEST(ImportTransferBench, Scaling) {
  const Imported result = imported(
      "GPU-GFX Scaling benchmark:\n==========================\n"
      "- Copying 67108864 bytes from GPU 3 to other devices\n"
      "- All numbers reported as GB/sec\n\n"
      "NumCUs   CPU00       GPU00     \n"
      "   1     22.75       34.75     \n"
      "  16     56.25      843.50     \n"
      " Best    56.25( 16) 843.50( 16)\n");
  EXPECT_THAT(cells_of(result), SizeIs(4));
  EXPECT_EQ(
      value_of(result, "peer scope=scaling src=gpu3 dst=gpu0 units=16 size=64MiB", "bandwidth"),
      843.5e9);
}

TEST(ImportTransferBench, SchmooAndSweeps) {
  const Imported schmoo = imported(
      "Bytes to transfer: 67108864 Local GPU: 0 Remote GPU: 1\n"
      "       | Local Read  | Local Write | Local Copy  | Remote Read | Remote Write| Remote Copy "
      "|\n"
      "  #CUs "
      "|G00->G00->N00|N00->G00->G00|G00->G00->G00|G01->G00->N00|N00->G00->G01|G00->G00->G01|\n"
      "|------|-------------|-------------|-------------|-------------|-------------|-------------|"
      "\n"
      "    32      3465.250      1642.500       806.250        49.125        49.875        49.250  "
      "\n");
  EXPECT_THAT(cells_of(schmoo), SizeIs(6));
  EXPECT_EQ(value_of(schmoo, "peer scope=schmoo op=remote_read units=32 size=64MiB", "bandwidth"),
            49.125e9);
  const Imported sweep = imported(
      "GPU-GFX All-To-All Sweep benchmark (67108864 bytes, local=no). All values are CPU-Timed "
      "GB/s\n"
      " BlkS   UnR    SE 004   SE 008\n"
      "  256     1    113.50   215.75\n"
      "Highest CPU-timed bandwidth found:  215.75 GB/s\n");
  EXPECT_THAT(cells_of(sweep),
              ElementsAre("peer scope=a2a_sweep block=256 unroll=1 units=4 size=64MiB",
                          "peer scope=a2a_sweep block=256 unroll=1 units=8 size=64MiB"));
  const Imported gfx = imported(
      "TransferBench v1.67.00\nGFX sweep (single transfer):\n- 67108864 bytes per transfer\n"
      "Blocksize: 256  WORD_SIZE: 4  TEMPORAL: 0  WAVE_ORDER: 0\n"
      "#CUs\\Unroll  1(Min)   2(Min) \n"
      "       4      12.50    13.25 \n");
  EXPECT_THAT(cells_of(gfx),
              ElementsAre("peer scope=gfx_sweep block=256-4-0-0 unroll=1 units=4 size=64MiB",
                          "peer scope=gfx_sweep block=256-4-0-0 unroll=2 units=4 size=64MiB"));
}

TEST(ImportTransferBench, AveragesOfPairs) {
  const Imported result = imported(
      "TransferBench v1.67.00\n"
      "                           CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU\n"
      "Averages (During UniDir):    100.25     44.75       N/A     48.50\n"
      "\n"
      "                           CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU\n"
      "Averages (During  BiDir):     89.50     44.75     44.50     45.25\n");
  EXPECT_THAT(result.records, SizeIs(7));
  EXPECT_EQ(value_of(result, "peer scope=p2p src=any_gpu dst=any_gpu", "bandwidth"), 48.5e9);
  EXPECT_EQ(value_of(result, "peer scope=p2p_both_ways src=any_gpu dst=any_cpu", "bandwidth"),
            44.5e9);
}

TEST(ImportTransferBench, OverheadWithAndWithoutAColon) {
  const std::string row = "| Aggregate (CPU) | 80.000 GB/s | 0.839 ms | 67108864 bytes | ";
  for (const char* overhead : {"Overhead: 0.250 ms |", " Overhead 0.250 ms |"}) {
    const Imported result = imported("TransferBench v1.67.00\nTest 1:\n" + row + overhead);
    EXPECT_EQ(value_of(result, "peer scope=aggregate test=1 size=64MiB", "overhead"), 0.25e-3);
  }
}

TEST(ImportTransferBench, MatricesWithTheRanksOfTheirExtremes) {
  const Imported result = imported(
      "GPU-GFX All-To-All benchmark:\n[67108864 bytes per Transfer] [GFX:8] [#Ranks:2]\n"
      "│ SRC\\DST       │ GPU 00  (Rnk) │ GPU 01  (Rnk) │ STotal  (Rnk) │\n"
      "│ GPU 00 MAX    │               │  46.50     1  │  46.50     1  │\n"
      "│ GPU 00 AVG    │    N/A        │  45.50        │  45.50        │\n"
      "│ GPU 00 MIN    │               │  44.50     0  │  44.50     0  │\n"
      "│ RTotal AVG    │   45.25       │  45.50        │  90.75        │\n");
  EXPECT_EQ(value_of(result, "peer scope=a2a src=gpu0 dst=gpu1 size=64MiB", "bandwidth"), 45.5e9);
  EXPECT_EQ(value_of(result, "peer scope=a2a src=all dst=gpu0 size=64MiB", "bandwidth"), 45.25e9);
}

TEST(ImportTransferBench, PairsAndRingsOfRanks) {
  const Imported pairs = imported(
      "TransferBench v1.67.00\n"
      "│ SRC Rank │ SRC MEM │ Dir │ DST Rank │ DST MEM │ bw (GB/s) │\n"
      "│ Rank 00  │ GPU 00  │ ->  │ Rank 01  │ GPU 01  │ 45.50     │\n"
      "│ Rank 00  │ GPU 00  │ <-  │ Rank 01  │ GPU 01  │ N/A       │\n");
  EXPECT_THAT(cells_of(pairs),
              ElementsAre("peer scope=ranks src=r0.gpu0 dst=r1.gpu1 direction=to"));
  const Imported rings = imported(
      "TransferBench v1.67.00\nNIC Rings benchmark\n"
      "2 queue pairs per NIC.  67108864 bytes per Transfer.  All numbers are GB/s\n"
      "│      │       │ GPU 00  │ GPU 01 │ TOTAL  │\n"
      "│ Rank │ Name  │ mlx5_0  │ mlx5_1 │ (GB/s) │\n"
      "│    0 │ node1 │  45.25  │  44.75 │  90.00 │\n"
      "│      │   MAX (GB/s) │  45.25  │  44.75 │  90.00 │\n");
  EXPECT_THAT(cells_of(rings), ElementsAre("peer scope=nic_rings rank=0 ring=0 size=64MiB",
                                           "peer scope=nic_rings rank=0 ring=1 size=64MiB",
                                           "peer scope=nic_rings rank=0 ring=total size=64MiB"));
}

TEST(ImportTransferBench, OneToAllNamesEachTransfer) {
  const Imported result = imported(
      "TransferBench v1.67.00\n"
      "Executing (G0 -> G0 -> G*)\n"
      "   GPU 1       GPU 2     \n"
      "--------------------------\n"
      "    45.125                   1 4 (G0 G0 G1)\n"
      "    44.500      43.250       2 4 (G0 G0 G1) (G0 G0 G2)\n");
  EXPECT_THAT(cells_of(result),
              ElementsAre("peer scope=one_to_all together=G1 src=G0 exe=G0 dst=G1 units=4",
                          "peer scope=one_to_all together=G1+G2 src=G0 exe=G0 dst=G1 units=4",
                          "peer scope=one_to_all together=G1+G2 src=G0 exe=G0 dst=G2 units=4"));
  EXPECT_EQ(result.records[2].metrics[0].value, 43.25e9);
}

TEST(ImportTransferBench, HealthChecksPassAndFail) {
  const Imported result = imported(
      "Testing HBM performance [READ]             ........PASS\n"
      "Testing all-to-all XGMI copies             ........FAIL (2 test(s))\n"
      " GPU 00 to GPU 01:  40.25 GB/s      Criteria:  43.65 GB/s\n"
      "Testing bidirectional host<->device copies ........FAIL (1 test(s))\n"
      " GPU 03: Measured:  86.25 GB/s      Criteria:  87.30 GB/s\n");
  EXPECT_THAT(cells_of(result),
              ElementsAre("peer scope=health test=hbm_performance_read",
                          "peer scope=health test=all_to_all_xgmi_copies",
                          "peer scope=health test=all_to_all_xgmi_copies src=gpu0 dst=gpu1",
                          "peer scope=health test=bidirectional_host_device_copies",
                          "peer scope=health test=bidirectional_host_device_copies src=gpu3"));
  EXPECT_EQ(result.records[0].status, RecordStatus::passed);
  EXPECT_EQ(metric_of(result.records[1], "failed_tests").value, 2);
  EXPECT_EQ(result.records[1].reason, "the health check says FAIL (2 test(s))");
  EXPECT_EQ(result.records[4].metrics[0].value, 86.25e9);
  EXPECT_EQ(result.records[4].reason, "below the criteria of the health check");
}

TEST(ImportTransferBench, MemoryBandwidthAndRanks) {
  const Imported hbm = imported(
      "TransferBench v1.67.00\n"
      "┌-------------┬------------------------------------------------┐\n"
      "│ Rank   GPU  │  MaxBw (GB/s)   AvgBw (GB/s)   MinBw (GB/s)  │\n"
      "│    0     1  │       4012.25        4001.50        3990.75  │\n"
      "└-------------┴------------------------------------------------┘\n");
  EXPECT_EQ(value_of(hbm, "peer scope=hbm rank=0 src=gpu1", "bandwidth"), 4001.5e9);
  EXPECT_EQ(value_of(hbm, "peer scope=hbm rank=0 src=gpu1", "max_bandwidth"), 4012.25e9);
  const Imported ranks = imported(
      "GPU-GFX IntraPod All-To-All benchmark:\n"
      "[67108864 bytes per Transfer] [GFX:8]\n"
      "┌----------------------┬---------------------------------------┐\n"
      "│ SRC+EXE\\DST          │ Rank 00            Rank 01            │\n"
      "│         Mem Device   │ GPU 00    GPU 01   GPU 00    GPU 01   │\n"
      "│     Rank 00 │ GPU 00 │     N/A    45.50    11.50     11.25   │\n"
      "│             │ GPU 01 │   45.25      N/A    11.00     11.75   │\n"
      "└----------------------┴---------------------------------------┘\n");
  EXPECT_THAT(cells_of(ranks), SizeIs(6));
  EXPECT_EQ(value_of(ranks, "peer scope=ranks src=r0.gpu1 dst=r1.gpu0 size=64MiB", "bandwidth"),
            11e9);
}

TEST(ImportTransferBench, TablesWithoutTheProgramsHead) {
  const std::string_view text = transferbench_sample;
  const Imported result = imported(text.substr(text.find("Bytes Per Direction")));
  EXPECT_EQ(result.format, "transferbench");
  EXPECT_THAT(result.records, SizeIs(6));
}

TEST(ImportRocmBandwidthTest, TablesWithoutTheProgramsHead) {
  const std::string_view text = rocm_sample;
  const Imported result = imported(text.substr(text.find("          Bidirectional")));
  EXPECT_EQ(result.format, "rocm-bandwidth-test");
  EXPECT_EQ(value_of(result, "peer direction=both src=0 dst=1", "peak_bandwidth"), 55.123e9);
}

TEST(ImportRocmBandwidthTest, Version201SpellsBothDirectionsInItsOwnWay) {
  const Imported result = imported(
      "          RocmBandwidthTest Version: 2.0.1\n"
      "          Bdirectional peak bandwidth GB/s\n"
      "          D/D       0         1\n"
      "          0         N/A       55.125\n");
  EXPECT_EQ(value_of(result, "peer direction=both src=0 dst=1", "peak_bandwidth"), 55.125e9);
}

TEST(ImportNvbandwidth, LatenciesWithoutTheirHeadAreNoBandwidths) {
  const Imported result = imported("SUM host_device_latency_sm 1401.50\n");
  const Record& sum = record_of(result, "peer op=host_device_latency_sm scope=sum");
  EXPECT_EQ(sum.metrics[0].name, "latency");
  EXPECT_EQ(sum.metrics[0].value, 1401.5e-9);
  // The unit of the matrix before it is not this test's.
  const Imported after = imported(
      "nvbandwidth Version: v0.8\nRunning a_memcpy_ce.\nmemcpy bandwidth (GB/s)\n"
      "           0         1\n 0       N/A    180.50\n\nSUM a_memcpy_ce 180.50\n"
      "Running host_device_latency_sm.\nSUM host_device_latency_sm 700.25\n");
  EXPECT_EQ(value_of(after, "peer op=host_device_latency_sm scope=sum", "latency"), 700.25e-9);
}

TEST(ImportNvbandwidth, BareWaivedLinesBelongToNoTest) {
  const Imported result = imported(
      "nvbandwidth Version: v0.8\nRunning a_memcpy_ce.\nmemcpy bandwidth (GB/s)\n"
      "           0         1\n 0       N/A    180.50\n\nSUM a_memcpy_ce 180.50\n"
      "\nWaived: \nWaived: \nRunning b_memcpy_ce.\nWaived: \nWaived: \n");
  EXPECT_THAT(cells_of(result),
              ElementsAre("peer op=a_memcpy_ce row=0 column=1", "peer op=a_memcpy_ce scope=sum",
                          "peer op=b_memcpy_ce"));
  EXPECT_EQ(result.records[2].status, RecordStatus::unsupported);
}

TEST(ImportBabelStream, WhatABatchSystemPrintsIsNoRow) {
  const Imported result = imported(
      "BabelStream\nVersion: 5.0\nFunction    GB/s        Min (sec)   Max         Average     \n"
      "Copy        4012.5      0.00054     0.00061     0.00055     \n"
      "GEOMEAN 3\n/lustre 0 0 0\nApplication 123 resources: utime ~1s\nTriad       3990.5\n");
  EXPECT_THAT(cells_of(result), ElementsAre("memory op=copy dtype=f64"));
  EXPECT_THAT(result.warnings, ElementsAre("line 8: the row is truncated, skipped"));
}

}  // namespace
}  // namespace assay
