#include "judge/trace/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/trace/trace_report.h"
#include "support/trace_text.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr std::string_view gather_args =
    R"("Collective name":"_allgather_base","In msg nelems":8388608,"Out msg nelems":16777216,)"
    R"("Group size":2,"dtype":"BFloat16","Process Group Name":"0")";

std::string gather(std::string_view ts, std::string_view dur) {
  return gpu_event("kernel", "ncclDevKernel_Generic", ts, dur, gather_args, "17");
}

std::string rank_text(int rank, std::string_view events) {
  return R"({"distributedInfo":{"rank":)" + std::to_string(rank) +
         R"(,"world_size":2},"baseTimeNanoseconds":1790857026000000000,"traceEvents":[)" +
         std::string(events) + "]}";
}

TEST(Collectives, BusBandwidthIsThatOfNcclTests) {
  const Timeline timeline =
      timeline_of(kineto_text(gather("0", "100") + "," + gather("200", "300")));
  const TraceIndex index(timeline);
  const auto groups = collectives_of(index, index.devices().at("0"));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].shape.operation, "all_gather");
  EXPECT_EQ(groups[0].shape.bytes, 33'554'432u);
  EXPECT_EQ(groups[0].count, 2u);
  EXPECT_EQ(groups[0].shortest, 100'000);
  // Half of 32 MiB in 100 us.
  ASSERT_TRUE(groups[0].bus_bandwidth);
  EXPECT_NEAR(*groups[0].bus_bandwidth, 167.77216e9, 1);
}

TEST(Collectives, WhatTheNameDoesNotSayIsUnknown) {
  const Timeline timeline =
      timeline_of(kineto_text(gpu_event("kernel", "ncclKernel_AllReduce_RING_LL", "0", "5")));
  const TraceIndex index(timeline);
  const auto groups = collectives_of(index, index.devices().at("0"));
  EXPECT_EQ(groups.front().shape.operation, "all_reduce");
  EXPECT_FALSE(groups.front().bus_bandwidth);
}

TEST(Collectives, QuickReduceIsAnAllReduce) {
  const Timeline timeline =
      timeline_of(kineto_text(gpu_event("kernel", "quick_reduce_twoshot", "0", "5")));
  const TraceIndex index(timeline);
  EXPECT_EQ(collectives_of(index, index.devices().at("0")).front().shape.operation, "all_reduce");
}

RankComparison compared(const std::string& first, const std::string& second) {
  const Timeline a = timeline_of(first), b = timeline_of(second);
  const TraceIndex index_a(a), index_b(b);
  return compare_ranks({&index_a, &index_b});
}

TEST(Ranks, GpusOfOneFileAreRanksOnOneClock) {
  const auto on_gpu = [](std::string_view gpu, std::string_view ts, std::string_view dur) {
    std::string event = gather(ts, dur);
    constexpr std::string_view process = "\"pid\":";
    return event.replace(event.find(process) + process.size(), 1, gpu);
  };
  // GPU 1 comes 300 us late; the file does not say what time its time 0 is.
  const Timeline timeline =
      timeline_of(kineto_text(on_gpu("0", "1000", "400") + "," + on_gpu("1", "1300", "100")));
  const TraceIndex index(timeline);
  ASSERT_EQ(index.devices().size(), 2u);
  const RankComparison ranks = compare_ranks({&index});
  ASSERT_EQ(ranks.problem, "");
  ASSERT_EQ(ranks.ranks.size(), 2u);
  EXPECT_EQ(ranks.matched, 1u);
  EXPECT_EQ(ranks.ranks[0].waited, 300'000);
  EXPECT_EQ(ranks.ranks[1].device, "1");
  EXPECT_EQ(ranks.ranks[1].caused, 300'000);
}

TEST(Ranks, TheOneThatComesLastWaitsLeast) {
  // Rank 1 comes 300 us late to the first collective and 50 us early to the second.
  const auto ranks = compared(rank_text(0, gather("1000", "400") + "," + gather("3000", "100")),
                              rank_text(1, gather("1300", "100") + "," + gather("2950", "150")));
  ASSERT_EQ(ranks.problem, "");
  EXPECT_EQ(ranks.matched, 2u);
  EXPECT_EQ(ranks.unmatched, 0u);
  EXPECT_EQ(ranks.transfer, 200'000);
  EXPECT_EQ(ranks.ranks[0].waited, 300'000);
  EXPECT_EQ(ranks.ranks[1].waited, 50'000);
  EXPECT_EQ(ranks.ranks[1].came_last, 1u);
  EXPECT_EQ(ranks.end_spread, 0);
}

TEST(Ranks, CollectivesThatDoNotEndTogetherAreNoPair) {
  const auto partly = compared(rank_text(0, gather("1000", "400") + "," + gather("90000", "100")),
                               rank_text(1, gather("90010", "100") + "," + gather("180000", "9")));
  EXPECT_EQ(partly.matched, 1u);
  EXPECT_EQ(partly.unmatched, 1u);
  const auto never =
      compared(rank_text(0, gather("1000", "400")), rank_text(1, gather("90000", "9")));
  EXPECT_THAT(never.problem, HasSubstr("no collective ends at the same time"));
  EXPECT_THAT(
      compared(rank_text(0, gather("1000", "400")), kineto_text(gather("1000", "400"))).problem,
      HasSubstr("what time their time 0 is"));
}

TEST(Ranks, ClocksThatAreNotKnownToBeTheSameAreAProblem) {
  const std::string unknown = kineto_text(gather("1000", "400"));
  EXPECT_THAT(compared(unknown, unknown).problem, HasSubstr("the traces do not say what time"));
  EXPECT_THAT(
      compared(rank_text(0, gather("1000", "100")), rank_text(1, gather("1000", "50"))).problem,
      HasSubstr("end at more different times"));
}

TEST(Ranks, TheOneThatCostsTheOthersMostIsNamed) {
  // Rank 0 is 1 us late three times, rank 1 is 9.9 ms late once; the last collective has no wait.
  std::string first = gather("20000", "10000") + "," + gather("50000", "100");
  std::string second = gather("29900", "100") + "," + gather("50000", "100");
  for (const char* start : {"1", "4", "7"}) {
    first += "," + gather(std::string(start) + "001", "100");
    second += "," + gather(std::string(start) + "000", "101");
  }
  const auto ranks = compared(rank_text(0, first), rank_text(1, second));
  ASSERT_EQ(ranks.problem, "");
  EXPECT_EQ(ranks.matched, 5u);
  EXPECT_EQ(ranks.ranks[0].came_last, 3u);
  EXPECT_EQ(ranks.ranks[0].caused, 3'000);
  EXPECT_EQ(ranks.ranks[1].came_last, 1u);
  const auto advice = rank_advice(ranks, 60'000'000);
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_THAT(advice.front().what, HasSubstr("rank 1 is late"));
  EXPECT_EQ(advice.front().most, 9'900'000);
}

}  // namespace
}  // namespace assay
