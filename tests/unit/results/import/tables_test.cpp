// Tables that other programs print, each in its exact layout.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "unit/import_samples.h"
#include "unit/import_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ImportOsu, EachTestIsARun) {
  const Imported result = imported(osu_sample);
  EXPECT_THAT(result.warnings, IsEmpty());
  EXPECT_THAT(cells_of(result),
              ElementsAre("osu test=allreduce_latency memory=rocm size=4",
                          "osu test=allreduce_latency memory=rocm size=1MiB",
                          "osu test=bandwidth send=device receive=host size=4KiB",
                          "osu test=bandwidth send=device receive=host size=4MiB",
                          "osu test=multiple_bandwidth_message_rate pairs=2 window_size=64 size=1",
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

TEST(ImportOsu, OneSidedTestsAreNamedAfterTheirCall) {
  const Imported result = imported(
      "# OSU MPI_Put Latency Test v5.7.1\n# Window creation: MPI_Win_allocate\n"
      "# Synchronization: MPI_Win_flush\n# Size          Latency (us)\n4 1.5\n"
      "# OSU MPI_Get_accumulate-CUDA latency Test v7.3\n# Size          Latency (us)\n4 2.5\n");
  EXPECT_THAT(cells_of(result), ElementsAre("osu test=put_latency window_creation=MPI_Win_allocate "
                                            "synchronization=MPI_Win_flush size=4",
                                            "osu test=get_accumulate_latency memory=cuda size=4"));
}

TEST(ImportOsu, ThreadsAndProcessesMakeOtherCells) {
  const Imported result = imported(
      "# Number of Sender threads: 1\n# Number of Receiver threads: 2\n"
      "# OSU MPI Multi-threaded Latency Test v5.7.1\n# Size          Latency (us)\n4 40.5\n"
      "# Number of Sender threads: 4\n"
      "# OSU MPI Multi-threaded Latency Test v5.7.1\n# Size          Latency (us)\n4 45.5\n"
      "# OSU MPI Multi-process Latency Test v5.7.1\n"
      "# Number of forked processes in sender: 2\n# Size          Latency (us)\n4 23.5\n");
  EXPECT_THAT(cells_of(result),
              ElementsAre("osu test=multi_threaded_latency number_of_sender_threads=1 "
                          "number_of_receiver_threads=2 size=4",
                          "osu test=multi_threaded_latency number_of_sender_threads=4 size=4",
                          "osu test=multi_process_latency "
                          "number_of_forked_processes_in_sender=2 size=4"));
}

TEST(ImportOsu, TimeToComputeIsNeitherBetterNorWorse) {
  const Imported result = imported(
      "# OSU MPI Non-blocking Broadcast Latency Test v5.7.1\n"
      "# Size           Overall(us)       Compute(us)        Overlap(%)\n"
      "4                     155.25            148.50             95.25\n");
  ASSERT_THAT(result.records, SizeIs(1));
  EXPECT_EQ(metric_of(result.records[0], "compute").better, Better::neither);
  EXPECT_EQ(metric_of(result.records[0], "overall").better, Better::lower);
  EXPECT_EQ(metric_of(result.records[0], "overlap").value, 0.9525);
  EXPECT_EQ(metric_of(result.records[0], "overlap").better, Better::higher);
}

TEST(ImportOsu, TestsWithoutSizesNameTheirColumnsWithoutAHash) {
  const Imported result = imported(
      "# OSU MPI Non-blocking Barrier Latency Test v5.7.1\n"
      "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
      "       Overall(us)       Compute(us)    Coll. Init(us)        Overlap(%)\n"
      "             89.75             68.00              5.75             65.50\n");
  const Record& record = record_of(result, "osu test=non_blocking_barrier_latency");
  EXPECT_DOUBLE_EQ(metric_of(record, "overall").value, 89.75e-6);
  EXPECT_EQ(metric_of(record, "overlap").value, 0.655);
  EXPECT_EQ(metric_of(record, "overlap").better, Better::higher);
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

TEST(ImportMlc, OlderVersionsWithoutTheirHead) {
  const Imported result = imported(
      "Measuring idle latencies (in ns)...\n\tMemory node\nSocket\t     0\t     1\n"
      "     0\t 113.5\t 113.25\n"
      "Measuring Peak Memory Bandwidths for the system\nALL Reads        :\t49427.5\n"
      "Measuring Memory Bandwidths between nodes within system\n\tMemory node\n"
      " Socket\t     0\t     1\n     0\t30868.5\t30913.25\n"
      "Measuring cache-to-cache transfer latency (in ns)...\n"
      "Remote Socket L2->L2 HITM latency (data address homed in reader socket)\n"
      "\t\tReader Socket\nWriter Socket\t     0\t     1\n            1\t 133.5\t     -\n");
  EXPECT_THAT(result.warnings, IsEmpty());
  EXPECT_THAT(
      cells_of(result),
      ElementsAre("mlc test=idle_latency from=0 to=0", "mlc test=idle_latency from=0 to=1",
                  "mlc test=peak_bandwidth traffic=all_reads",
                  "mlc test=node_bandwidth from=0 to=0", "mlc test=node_bandwidth from=0 to=1",
                  "mlc test=cache_to_cache_latency "
                  "transfer=remote_socket_l2_l2_hitm_homed_in_reader from=1 to=0"));
  ASSERT_THAT(result.records, SizeIs(6));
  EXPECT_EQ(metric_of(result.records[4], "bandwidth").value, 30913.25e6);
}

TEST(ImportMlc, TheMaximumBandwidthIsATestOfItsOwn) {
  const Imported result = imported(
      "Intel(R) Memory Latency Checker - v3.5\nCommand line parameters: --max_bandwidth\n"
      "Measuring Maximum Memory Bandwidths for the system\n"
      "Will take several minutes to complete as multiple injection rates will be tried\n"
      "ALL Reads        :      216876.5\n");
  EXPECT_EQ(value_of(result, "mlc test=max_bandwidth traffic=all_reads", "bandwidth"), 216876.5e6);
}

TEST(ImportP2p, ATitleThatComesAgainIsAnotherRun) {
  const std::string_view table =
      "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n"
      "     0 2494.5 364.25\n"
      "Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix (GB/s)\n   D\\D     0      1\n"
      "     0 2494.5 365.25\n";
  const Imported result = imported(std::string(table) + std::string(table));
  ASSERT_THAT(result.records, SizeIs(8));
  EXPECT_EQ(result.records[0].run, result.records[3].run);
  EXPECT_NE(result.records[3].run, result.records[4].run);
  EXPECT_EQ(result.records[4].run, result.records[7].run);
  EXPECT_EQ(result.records[3].cell.id(), "peer op=unidirectional p2p=enabled_reads row=0 column=1");
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

std::string gemm_table(std::string_view columns, std::string_view values) {
  return fmt::format("m,n,k,{},hipblaslt-Gflops,us\n64,64,64,{},100.5,2.5\n", columns, values);
}

TEST(ImportGemmBench, CandidatesTheWinnerAndOptions) {
  const Imported result = imported(gemm_bench_sample);
  EXPECT_THAT(result.warnings, IsEmpty());
  ASSERT_THAT(result.records, SizeIs(4));
  const std::string problem =
      "blas library=hipblaslt transa=T transb=N m=4096 n=4096 k=8192 a_type=bf16_r b_type=bf16_r "
      "c_type=bf16_r d_type=bf16_r compute_type=f32_r lda=8192 ldb=8192 ldc=4096 "
      "rotating_buffer=512";
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

TEST(ImportGemmBench, ANameThatIsTooLongForANoteIsMarked) {
  const auto solution = [](std::size_t length) {
    const Imported result = imported(gemm_table("lda", "64") + "    --Solution name:  Cijk_" +
                                     std::string(length, 'a') + "\n");
    return note_of(result.records.at(0), "solution");
  };
  EXPECT_EQ(solution(523), "Cijk_" + std::string(523, 'a'));
  EXPECT_EQ(solution(5000).size(), 1003u);
  EXPECT_THAT(solution(5000), testing::EndsWith("aaa..."));
}

TEST(ImportGemmBench, WhatTookNoTimeIsNoResult) {
  const Imported result = imported(
      "transA,transB,m,n,k,cold_iters,hot_iters,hipblaslt-Gflops,hipblaslt-GB/s,us\n"
      "N,N,64,64,64,2,10,inf,inf,0\n");
  ASSERT_THAT(result.records, SizeIs(1));
  EXPECT_EQ(result.records[0].status, RecordStatus::failed);
  EXPECT_EQ(result.records[0].reason, "it took no time: nothing was measured");
  EXPECT_EQ(note_of(result.records[0], "hot_iters"), "10");
}

TEST(ImportGemmBench, WhateverTellsProblemsApartIsAnAxis) {
  const auto cell = [](std::string_view columns, std::string_view values) {
    const Imported result = imported(gemm_table(columns, values));
    EXPECT_THAT(result.warnings, IsEmpty());
    return result.records.at(0).cell.id();
  };
  const std::string plain = "blas library=hipblaslt m=64 n=64 k=64";
  EXPECT_EQ(cell("rotating_buffer,flush,use_gpu_timer", "0,0,0"), plain);
  EXPECT_EQ(cell("rotating_buffer,flush,use_gpu_timer", "640,1,1"),
            plain + " rotating_buffer=640 flush=1 use_gpu_timer=1");
  EXPECT_EQ(cell("ldc,ldd,d_type,aux_type", "64,128,f16_r,bf16_r"),
            "blas library=hipblaslt m=64 n=64 k=64 d_type=f16_r aux_type=bf16_r ldc=64 ldd=128");
  EXPECT_EQ(cell("ldc,ldd,d_type,aux_type", "64,64,f16_r,f16_r"),
            "blas library=hipblaslt m=64 n=64 k=64 d_type=f16_r ldc=64");
  EXPECT_EQ(cell("batch_count,stride_a", "1,4096"), plain);
  EXPECT_EQ(cell("batch_count,stride_a", "4,8192"),
            "blas library=hipblaslt batch_count=4 m=64 n=64 k=64 stride_a=8192");
  EXPECT_EQ(cell("a2a_world,a2a_extent", "8,2048"),
            "blas library=hipblaslt a2a_world=8 a2a_extent=2048 m=64 n=64 k=64");
  const Imported novel = imported(gemm_table("novel", "7"));
  EXPECT_THAT(cells_of(novel), ElementsAre(plain + " novel=7"));
  EXPECT_THAT(novel.warnings, ElementsAre(HasSubstr("the column novel is not known")));
}

TEST(ImportBabelStream, ColumnsThatAScriptAddedTellRowsApart) {
  const Imported result = imported(
      "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime,"
      "run,threads_per_core\n"
      "Copy,100,33554432,8,210000.5,0.0025565,0.0031,0.0026,1,1\n"
      "Copy,100,33554432,8,260000.5,0.0020648,0.0029,0.0021,2,4\n");
  EXPECT_THAT(cells_of(result),
              ElementsAre("memory op=copy dtype=f64 threads_per_core=1 size=256MiB",
                          "memory op=copy dtype=f64 threads_per_core=4 size=256MiB"));
  EXPECT_EQ(note_of(result.records[1], "run"), "2");
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("different cells: threads_per_core")));
}

TEST(ImportServingBlock, BlocksOfBothServers) {
  const Imported result = imported(serving_block_sample);
  EXPECT_THAT(result.warnings, IsEmpty());
  const Record& vllm = record_of(result,
                                 "serving request_rate=1.5 max_concurrency=25 num_prompts=302 "
                                 "input_about=4000 output_about=500");
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

TEST(ImportServingBlock, PartsOfABlockDoNotEndIt) {
  const Imported result = imported(
      "============ Serving Benchmark Result ============\n"
      "Successful requests:                     1\nFailed requests:                         0\n"
      "Mean E2EL (ms):                          4318.50\n"
      "================== Text Result ===================\n"
      "Total generated tokens:                  900\n"
      "Output token throughput (tok/s):         208.25\n"
      "Mean TTFT (ms):                          150.25\n"
      "================== Audio Result ==================\n"
      "Total audio frames generated:            1450560\n"
      "Mean AUDIO_TTFP (ms):                    900.25\n"
      "==================================================\n");
  EXPECT_THAT(result.warnings, IsEmpty());
  const Record& record = record_of(
      result, "serving request_rate=inf max_concurrency=none num_prompts=1 output_about=1000");
  EXPECT_EQ(metric_of(record, "mean_ttft").value, 0.15025);
  EXPECT_EQ(metric_of(record, "output_throughput").value, 208.25);
  EXPECT_EQ(metric_of(record, "mean_e2el").value, 4.3185);
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

TEST(ImportAiperfCsv, MoreFailuresThanSuccessesAreNoResult) {
  const auto counts = [](int good, int bad) {
    return imported(fmt::format("Metric,avg,min\nRequest Latency (ms),10.5,5.5\n\nMetric,Value\n"
                                "Maximum Response Timestamp (ns),1759522428472357888.00\n"
                                "Request Count,{}.00\nError Request Count,{}.00\n",
                                good, bad))
        .records[0];
  };
  EXPECT_EQ(counts(89, 11).status, RecordStatus::passed);
  EXPECT_EQ(counts(11, 89).status, RecordStatus::failed);
  EXPECT_EQ(counts(11, 89).reason, "11 requests succeeded, 89 failed");
  EXPECT_EQ(metric_of(counts(1, 0), "maximum_response_timestamp").better, Better::neither);
}

TEST(ImportAiperfCsv, BothTablesAndTheFoldersLoad) {
  const Imported result =
      imported(aiperf_csv_sample, "artifacts/m-chat-concurrency16/profile_export_genai_perf.csv");
  ASSERT_THAT(result.records, SizeIs(1));
  const Record& record = result.records[0];
  EXPECT_EQ(record.cell.id(), "serving concurrency=16 output_about=160");
  EXPECT_EQ(record.source->tool, "genai-perf");
  EXPECT_EQ(record.metrics.front().name, "output_token_throughput");
  EXPECT_EQ(metric_of(record, "output_token_throughput").unit, "tokens/s");
  EXPECT_EQ(metric_of(record, "request_throughput").unit, "1/s");
  EXPECT_EQ(metric_of(record, "mean_ttft").value, 1.14625);
  EXPECT_EQ(metric_of(record, "median_e2el").value, 5.69);
  EXPECT_EQ(metric_of(record, "mean_output_sequence_length").value, 174.5);
  EXPECT_EQ(metric_of(record, "p75_ttft").value, 1.33);
  EXPECT_EQ(metric_of(record, "p25_ttft").value, 0.286);
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
  EXPECT_EQ(note_of(first, "model_id"), "m/M-8B");
  EXPECT_EQ(first.source->version, "0.6.0");
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
