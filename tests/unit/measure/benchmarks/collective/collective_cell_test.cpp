#include "measure/benchmarks/collective/collective_cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/grid/benchmark.h"
#include "support/test_device.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

CollectiveCell cell_of(CollectiveOperation operation, DataType type, std::uint64_t size) {
  CollectiveCell cell;
  cell.operation = operation;
  cell.type = type;
  cell.reduction = Reduction::sum;
  cell.ranks = 8;
  cell.library = "tcp";
  cell.size = size;
  return cell;
}

TEST(CollectiveCell, WhatCannotBeMeasuredHasAReason) {
  using Operation = CollectiveOperation;
  const auto device = open_fake_device("memory=100000000");
  const auto reason = [&](CollectiveCell cell) {
    return collective_unsupported(cell, *device).value_or("");
  };
  const CollectiveCell good = cell_of(Operation::all_reduce, DataType::f32, 1024);
  EXPECT_EQ(reason(good), "");
  CollectiveCell cell = good;
  cell.ranks = 1;
  EXPECT_THAT(reason(cell), HasSubstr("start several"));
  cell = good;
  cell.library = "auto";
  EXPECT_THAT(reason(cell), HasSubstr("for fake devices"));
  cell = good;
  cell.reduction.reset();
  EXPECT_THAT(reason(cell), HasSubstr("all_reduce needs a reduction"));
  cell = cell_of(Operation::all_to_all, DataType::f32, 1024);
  cell.in_place = true;
  EXPECT_THAT(reason(cell), HasSubstr("all_to_all has no in-place form"));
  EXPECT_THAT(reason(cell_of(Operation::all_reduce, DataType::e4m3_fnuz, 1024)), HasSubstr("FNUZ"));
  EXPECT_THAT(reason(cell_of(Operation::all_gather, DataType::f32, 64)),
              HasSubstr("64 are too few for all_gather of f32 over 8 ranks"));
  EXPECT_THAT(reason(cell_of(Operation::all_reduce, DataType::f32, 100000000)),
              HasSubstr("larger than the caches"));
  cell = cell_of(Operation::all_reduce, DataType::e4m3, 1024);
  cell.ranks = 72;
  cell.reduction = Reduction::avg;
  EXPECT_THAT(reason(cell), HasSubstr("no unique correct result"));
}

TEST(CollectiveCell, AnAxisIsReplacedAndTheOthersKept) {
  const Cell cell("collective", {{"op", "reduce"}, {"ranks", "all"}});
  EXPECT_EQ(with_value(cell, "ranks", "4").id(), "collective op=reduce ranks=4");
  EXPECT_EQ(with_value(cell, "colour", "4"), cell);
}

CellValue value_of(std::string_view op, std::string_view size, double value) {
  return {Cell("collective", {{"op", std::string(op)},
                              {"dtype", "f32"},
                              {"redop", "sum"},
                              {"place", "out"},
                              {"ranks", "4"},
                              {"library", "nccl"},
                              {"launch", "stream"},
                              {"size", std::string(size)}}),
          value};
}

TEST(CollectiveCell, ARedopWithoutAReductionOnlyRepeatsCells) {
  const Benchmark& benchmark = *find_benchmark("collective");
  const auto cell = [](std::string op, std::string redop) {
    return Cell("collective", {{"op", std::move(op)}, {"redop", std::move(redop)}});
  };
  EXPECT_TRUE(benchmark.redundant(cell("all_reduce", "none")));
  EXPECT_FALSE(benchmark.redundant(cell("all_reduce", "max")));
  EXPECT_FALSE(benchmark.redundant(cell("all_gather", "sum")));
}

TEST(MessageCell, WhatCannotBeMeasuredHasAReason) {
  const auto device = open_fake_device("memory=100000000");
  const auto reason = [&](std::string to, std::string metric, std::string library,
                          std::string size) {
    const Cell cell("mpi", {{"from", "0"},
                            {"to", std::move(to)},
                            {"metric", std::move(metric)},
                            {"direction", "both"},
                            {"memory", "device"},
                            {"library", std::move(library)},
                            {"size", std::move(size)}});
    return find_benchmark("mpi")->unsupported(cell, *device).value_or("");
  };
  EXPECT_EQ(reason("1", "bandwidth", "mpi", "1KiB"), "");
  EXPECT_THAT(reason("0", "bandwidth", "mpi", "1KiB"), HasSubstr("does not send to itself"));
  EXPECT_THAT(reason("1", "latency", "mpi", "1KiB"), HasSubstr("use direction=one"));
  EXPECT_THAT(reason("1", "bandwidth", "auto", "1KiB"), HasSubstr("for fake devices"));
  EXPECT_THAT(reason("1", "bandwidth", "mpi", "50MiB"), HasSubstr("larger than the caches"));
}

TEST(CollectiveConclusions, LatencyPeakAndHalfPeakOfEveryCurve) {
  const std::vector<CellValue> values = {
      value_of("all_reduce", "4MiB", 100e9), value_of("all_reduce", "64", 9.6e6),
      value_of("all_reduce", "1MiB", 40e9), value_of("broadcast", "1KiB", 1.024e9)};
  const auto conclusions = find_benchmark("collective")->conclusions(values);
  const std::string curve = "dtype=f32 redop=sum place=out ranks=4 library=nccl launch=stream";
  std::vector<std::string> names;
  for (const Conclusion& one : conclusions) names.push_back(one.name);
  EXPECT_THAT(names, UnorderedElementsAre("latency op=all_reduce " + curve,
                                          "peak_busbw op=all_reduce " + curve,
                                          "half_plateau_bytes op=all_reduce " + curve,
                                          "nine_tenths_plateau_bytes op=all_reduce " + curve,
                                          "latency op=broadcast " + curve));
  EXPECT_DOUBLE_EQ(conclusions[0].value, 64 * 1.5 / 9.6e6);  // 10 us: busbw has the factor 1.5
  EXPECT_EQ(conclusions[1].value, 100e9);
  EXPECT_GT(conclusions[2].value, 1 << 20);
  EXPECT_LT(conclusions[2].value, 4 << 20);
  EXPECT_GT(conclusions[3].value, conclusions[2].value);
  EXPECT_DOUBLE_EQ(conclusions[4].value, 1e-6);
}

}  // namespace
}  // namespace assay
