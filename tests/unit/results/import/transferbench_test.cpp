// What each preset of TransferBench prints, in its exact layout.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "unit/import_samples.h"
#include "unit/import_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

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
  const Imported newer = imported(
      "GPU-GFX All-To-All Sweep benchmark:\n==========================\n"
      "- Copying 268435456 bytes between directly connected pairs of GPUs\nBlocksize: 256\n"
      "#CUs\\Unroll  1(Min)  2(Min)\n        4   120.50  209.75\n");
  EXPECT_THAT(cells_of(newer),
              ElementsAre("peer scope=a2a_sweep block=256 unroll=1 units=4 size=256MiB",
                          "peer scope=a2a_sweep block=256 unroll=2 units=4 size=256MiB"));
  const Imported gfx = imported(
      "TransferBench v1.67.00\nGFX sweep (single transfer):\n- 67108864 bytes per transfer\n"
      "Blocksize: 256  WORD_SIZE: 4  TEMPORAL: 0  WAVE_ORDER: 0\n"
      "#CUs\\Unroll  1(Min)   2(Min) \n"
      "       4      12.50    13.25 \n");
  EXPECT_THAT(cells_of(gfx),
              ElementsAre("peer scope=gfx_sweep block=256-4-0-0 unroll=1 units=4 size=64MiB",
                          "peer scope=gfx_sweep block=256-4-0-0 unroll=2 units=4 size=64MiB"));
}

TEST(ImportTransferBench, TheFirstVersionsTellNoSize) {
  const Imported result = imported(
      "Run configuration (TransferBench v1.02)\nTest 1:\n"
      " Transfer 00: G00 -> [GPU 00:004] -> G01 |     8.413 GB/s |  127.625 ms | LOCAL-PCIE-2\n"
      " Transfer 01: G00 -> [GPU 00:004] -> G02 |     8.406 GB/s |\n"
      " Aggregate Bandwidth (CPU timed)         |    33.518 GB/s |  128.125 ms | Overhead: 0.5 "
      "ms\n");
  EXPECT_THAT(cells_of(result),
              ElementsAre("peer scope=transfer test=1 src=G00 exe=GPU0 units=4 dst=G01",
                          "peer scope=aggregate test=1"));
  ASSERT_THAT(result.records, SizeIs(2));
  EXPECT_EQ(metric_of(result.records[0], "time").value, 0.127625);
  EXPECT_EQ(metric_of(result.records[1], "overhead").value, 0.0005);
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

TEST(ImportTransferBench, RingsOfGpus) {
  const Imported result = imported(
      "GPU-GFX Rings benchmark:\n[268435456 bytes per Transfer] [GFX:8] [#Ranks:2]\n"
      "Running 2 parallel ring(s) each of 2 devices.  All numbers in GB/s:\n"
      "│Ring00  Ring00  Ring00│Ring01  Ring01  Ring01│\n"
      "│Device  GFX BW  NIC BW│Device  GFX BW  NIC BW│\n"
      "├----------------------┼----------------------┤\n"
      "│ R00:0  177.25   45.25│ R00:2  178.25   46.25│\n"
      "│ R01:1  174.50   45.50│ R01:3  175.50     N/A│\n"
      "│   MIN  174.50   45.25│   MIN  175.50   46.25│\n"
      "│   SUM  351.75   90.75│   SUM  353.75   46.25│\n"
      "Aggregate bandwidth (CPU Timed): 555.494 GB/s\n");
  EXPECT_EQ(result.format, "transferbench");
  EXPECT_THAT(result.records, SizeIs(12));
  const auto rate = [&](const std::string& cell) {
    return value_of(result, "peer scope=rings " + cell + " size=256MiB", "bandwidth");
  };
  EXPECT_EQ(rate("ring=0 src=r0.gpu0 exe=gfx"), 177.25e9);
  EXPECT_EQ(rate("ring=1 src=r1.gpu3 exe=gfx"), 175.5e9);
  EXPECT_EQ(rate("ring=0 src=r1.gpu1 exe=nic"), 45.5e9);
  EXPECT_EQ(rate("ring=1 src=all exe=gfx"), 353.75e9);
}

TEST(ImportTransferBench, NicsThatSendToAllOthers) {
  const auto group = [](const char* number, const char* nic) {
    return fmt::format(
        "--- NIC AllToAll Plane 00 Group {0} (2 NICs) ---\n"
        "│ Mem Device          │             │ Rank 00 │ Rank 01 │        │        │\n"
        "│                     │             │  GPU 01 │  GPU 01 │        │        │\n"
        "│                     │ SRC+EXE\\DST │  {1} │  {1} │ STotal │ Actual │\n"
        "│ Rank 00      GPU 01 │      {1} │     N/A │   48.95 │  48.95 │  48.75 │\n"
        "│ Rank 01      GPU 01 │      {1} │   48.90 │     N/A │  48.90 │  48.90 │\n"
        "│                     │      RTotal │   48.90 │   48.95 │  97.85 │  97.65 │\n",
        number, nic);
  };
  const Imported result = imported("TransferBench v1.69.01\nNIC All-To-All benchmark\n" +
                                   group("00", "mlx5_2") + group("01", "mlx5_4"));
  EXPECT_THAT(result.records, SizeIs(20));
  const auto rate = [&](const std::string& cell) {
    return value_of(result, "peer scope=nic_a2a plane=0 " + cell, "bandwidth");
  };
  EXPECT_EQ(rate("group=0 src=r0.mlx5_2 dst=r1.mlx5_2"), 48.95e9);
  EXPECT_EQ(rate("group=1 src=r1.mlx5_4 dst=r0.mlx5_4"), 48.90e9);
  EXPECT_EQ(rate("group=0 src=r0.mlx5_2 dst=actual"), 48.75e9);
  EXPECT_EQ(rate("group=1 src=all dst=stotal"), 97.85e9);
  std::string cut = group("00", "mlx5_2");
  cut.replace(cut.find(" │  48.95 │  48.75 │"), std::string(" │  48.95 │  48.75 │").size(), "");
  const Imported rest = imported("TransferBench v1.69.01\n" + cut);
  EXPECT_THAT(rest.records, SizeIs(7));  // of the other NIC and the totals
  EXPECT_THAT(rest.warnings,
              ElementsAre("line 6: the row does not have the columns of its table, skipped"));
}

TEST(ImportTransferBench, NicsOfOneGpuAreToldApart) {
  const Imported result = imported(
      "Unidirectional copy peak bandwidth GB/s (NIC RDMA Using Nearest Device)\n"
      "│SRC+EXE\\DST │                      │  Rank 00              │  Rank 01              │\n"
      "│            │ NIC Device           │ bnxt_re0   bnxt_re1   │ bnxt_re0   bnxt_re1   │\n"
      "│            │           Mem Device │   GPU 00     GPU 00   │   GPU 00     GPU 00   │\n"
      "│    Rank 00 │   bnxt_re0    GPU 00 │    31.36      31.31   │    31.32      31.30   │\n"
      "│            │   bnxt_re1    GPU 00 │    31.33      31.35   │    31.34      31.38   │\n");
  EXPECT_THAT(result.records, SizeIs(8));
  EXPECT_EQ(value_of(result, "peer scope=ranks src=r0.bnxt_re1 dst=r1.bnxt_re0", "bandwidth"),
            31.34e9);
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

TEST(ImportTransferBench, ColumnsOfRanksThatOnlyTheFirstLineNames) {
  const std::string table =
      "--- Pod AllToAll Group 1 ---\n"
      "│ SRC+EXE\\DST │            │     Rank 00     │ Rank 01 │ STotal  │ Actual  │\n"
      "│             │ Mem Device │  GPU 00  GPU 02 │  GPU 02 │         │         │\n"
      "│ Rank 00     │ GPU 00     │     N/A  106.25 │  106.50 │  212.75 │  212.50 │\n"
      "│             │ GPU 02     │  106.75     N/A │  107.25 │  214.00 │  213.50 │\n"
      "│ Rank 01     │ GPU 02     │  105.75  106.00\n"
      "│             │ RTotal     │  212.50  212.25 │  213.75 │  638.50 │  637.50 │\n";
  const Imported result = imported(
      "TransferBench v1.67.00\nGPU-GFX IntraPod All-To-All benchmark:\n"
      "[268435456 bytes per Transfer] [GFX:8] [1 Read(s) 1 Write(s)] [MemType:default GPU]\n" +
      table);
  EXPECT_THAT(result.records, SizeIs(13));
  EXPECT_THAT(result.warnings,
              ElementsAre("line 9: the row does not have the columns of its table, skipped"));
  const auto rate = [&](const std::string& cell) {
    return value_of(result, "peer scope=ranks group=1 " + cell + " size=256MiB", "bandwidth");
  };
  EXPECT_EQ(rate("src=r0.gpu0 dst=r0.gpu2"), 106.25e9);
  EXPECT_EQ(rate("src=r0.gpu0 dst=r1.gpu2"), 106.50e9);
  EXPECT_EQ(rate("src=r0.gpu2 dst=stotal"), 214e9);
  EXPECT_EQ(rate("src=r0.gpu2 dst=actual"), 213.5e9);
  EXPECT_EQ(rate("src=all dst=r0.gpu0"), 212.5e9);
}

TEST(ImportTransferBench, ExecutorsAndMemoryMakeOtherCells) {
  const auto matrix = [](const std::string& head) {
    return cells_of(imported("TransferBench v1.67.00\n" + head +
                             " SRC\\DST  GPU 00    GPU 01    STotal\n"
                             " GPU 00    N/A       45.25     45.25\n"
                             "Aggregate bandwidth (CPU Timed): 90.25 GB/s\n"));
  };
  const auto cells = [](const std::string& more) {
    return ElementsAre("peer scope=a2a src=gpu0 dst=gpu1" + more + " size=64MiB",
                       "peer scope=a2a src=gpu0 dst=stotal" + more + " size=64MiB",
                       "peer scope=aggregate timing=cpu" + more + " size=64MiB");
  };
  EXPECT_THAT(matrix("GPU-GFX All-To-All benchmark:\n[67108864 bytes per Transfer] [GFX:8] "
                     "[1 Read(s) 1 Write(s)] [MemType:default GPU] [#Ranks:1]\n"),
              cells(""));
  EXPECT_THAT(matrix("GPU-DMA All-To-All benchmark:\n[67108864 bytes per Transfer] [DMA:8] "
                     "[1 Read(s) 1 Write(s)] [MemType:uncached GPU] [#Ranks:1]\n"),
              cells(" exe=dma memory=uncached"));
  EXPECT_THAT(matrix("GPU-GFX All-To-All benchmark:\n[67108864 bytes per Transfer] [GFX:16] "
                     "[1 Read(s) 0 Write(s)]\n"),
              cells(" units=16 writes=0"));
  // Versions before 1.67 name GFX in the title whatever the setting says.
  EXPECT_THAT(matrix("USE_DMA_EXEC         =            1 : Using DMA executor\n"
                     "GPU-GFX All-To-All benchmark:\n- Copying 67108864 bytes between all\n"),
              cells(" exe=dma"));
  const Imported pairs = imported(
      "Bytes Per Direction 67108864\n"
      "Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)\n"
      " SRC+EXE\\DST    GPU 00    GPU 01\n  GPU 00  ->     N/A   47.25\n\n"
      "Unidirectional copy peak bandwidth GB/s [Remote read / Local write] (GPU-Executor: DMA)\n"
      " SRC\\EXE+DST    GPU 00    GPU 01\n  GPU 00  ->     N/A   45.25\n");
  EXPECT_THAT(cells_of(pairs),
              ElementsAre("peer scope=p2p src=gpu0 dst=gpu1 direction=to size=64MiB",
                          "peer scope=p2p src=gpu0 dst=gpu1 direction=to exe=dma read=remote "
                          "size=64MiB"));
}

TEST(ImportTransferBench, WarningsOfTheProgramAreKept) {
  const std::string warning =
      "[WARN] DMA 0 attempting 7 parallel transfers, however GPU_MAX_HW_QUEUES only set to 4";
  const Imported result = imported("TransferBench v1.67.00\n" + warning + "\n" + warning +
                                   "\nGPU-DMA All-To-All benchmark:\n SRC\\DST  GPU 00  GPU 01\n"
                                   " GPU 00    N/A       45.25\n");
  EXPECT_THAT(result.warnings, ElementsAre("line 2: " + warning));
  EXPECT_EQ(note_of(result.records[0], "warning"), warning);
}

TEST(ImportTransferBench, RowsThatAreCutGiveNoNumberToAnotherColumn) {
  const Imported averages = imported(
      "TransferBench v1.67.00\n                  CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU\n"
      "Averages (During UniDir):    100.25     44.75       N/A     48.50\n"
      "Averages (During  BiDir):    100.25     44.75\n");
  EXPECT_THAT(averages.records, SizeIs(3));
  const Imported rings = imported(
      "NIC Rings benchmark\n│ Rank │ Name  │ mlx5_0  │ mlx5_1 │ (GB/s) │\n"
      "│    0 │ node1 │  45.25  │  44.75 │  90.00 │\n│    1 │ node2 │  45.25  │  44.75 \n");
  EXPECT_THAT(rings.records, SizeIs(3));
  const auto pairs = import_text(
      {"TransferBench v1.67.00\n│ SRC Rank │ SRC MEM │ DST Rank │ DST MEM │ bw (GB/s) │\n"
       "│ Rank 00  │ GPU 00  │ Rank 01  │ GPU 01\n",
       "x.log"},
      "");
  EXPECT_FALSE(pairs.ok());
}

TEST(ImportTransferBench, TitlesOfPresetsAreKnownWithoutTheHead) {
  const Imported one = imported(
      "Executing (G0 -> G0 -> G*)\n   GPU 1       GPU 2     \n"
      "    45.125                   1 4 (G0 G0 G1)\n");
  EXPECT_EQ(one.format, "transferbench");
}

TEST(ImportTransferBench, TablesWithoutTheProgramsHead) {
  const std::string_view text = transferbench_sample;
  const Imported result = imported(text.substr(text.find("Bytes Per Direction")));
  EXPECT_EQ(result.format, "transferbench");
  EXPECT_THAT(result.records, SizeIs(6));
}

}  // namespace
}  // namespace assay
