#include "advise/health/sdc_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::health {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Ranks with these checksums after two operations and at the end.
std::vector<RankUnits> ranks_with(const std::vector<std::vector<std::uint64_t>>& trails) {
  std::vector<RankUnits> ranks;
  for (const auto& trail : trails) {
    SdcUnit unit;
    unit.name = "gemm";
    unit.variant = "v";
    unit.operations = {"first", "second"};
    unit.trail = trail;
    ranks.push_back({"rank " + std::to_string(ranks.size()), "chip", {unit}, {}});
  }
  return ranks;
}

TEST(SdcRanks, EqualOnesAreSound) {
  const RankJudgement judged = judge_ranks(ranks_with({{1, 2, 3}, {1, 2, 3}}), 0);
  EXPECT_THAT(judged.differences, IsEmpty());
  EXPECT_THAT(judged.unsettled, IsEmpty());
  ASSERT_EQ(judged.compared.size(), 1u);
  EXPECT_EQ(judged.compared[0].size(), 2u);
}

TEST(SdcRanks, TheMinorityIsNamedWithItsFirstOperation) {
  const RankJudgement judged = judge_ranks(ranks_with({{1, 2, 3}, {1, 9, 3}, {1, 2, 3}}), 0);
  ASSERT_EQ(judged.differences.size(), 1u);
  EXPECT_EQ(judged.differences[0].rank, 1);
  EXPECT_EQ(judged.differences[0].operation, "second");
  EXPECT_THAT(judged.differences[0].device, HasSubstr("rank 1"));
  EXPECT_THAT(judged.differences[0].against, HasSubstr("2 of 3"));
}

TEST(SdcRanks, WithoutAMajorityNobodyIsNamed) {
  const RankJudgement judged = judge_ranks(ranks_with({{1, 2, 3}, {1, 2, 4}}), 0);
  ASSERT_EQ(judged.differences.size(), 1u);
  EXPECT_EQ(judged.differences[0].rank, -1);
  EXPECT_EQ(judged.differences[0].operation, "memory at rest");
  EXPECT_THAT(judged.differences[0].device, HasSubstr("one of chip of rank 0, chip of rank 1"));
}

TEST(SdcRanks, OtherBitsOfALibraryProveNoFault) {
  auto ranks = ranks_with({{1, 2, 3}, {1, 9, 3}, {1, 2, 3}});
  ranks[1].units[0].calls_library = true;
  const RankJudgement judged = judge_ranks(ranks, 0);
  EXPECT_THAT(judged.differences, IsEmpty());
  EXPECT_THAT(judged.unsettled, HasSubstr("may use other algorithms"));
}

TEST(SdcRanks, ARankWhoseOwnCheckFailsIsWrongAmongOthersThatPass) {
  auto ranks = ranks_with({{1, 2, 3}, {}, {1, 2, 3}});
  ranks[1].units[0].refused = true;
  ranks[1].units[0].left_out = "its check fails";
  const RankJudgement judged = judge_ranks(ranks, 0);
  ASSERT_EQ(judged.differences.size(), 1u);
  EXPECT_EQ(judged.differences[0].rank, 1);
  EXPECT_THAT(judged.differences[0].against, HasSubstr("its check fails"));
  ranks[0].units[0] = ranks[1].units[0];
  EXPECT_THAT(judge_ranks(ranks, 0).differences, IsEmpty());
}

TEST(SdcRanks, OtherKindsAndOtherWorkAreNotCompared) {
  auto ranks = ranks_with({{1, 2, 3}, {1, 9, 3}, {4, 5, 6}});
  ranks[1].kind = "another chip";
  ranks[2].units[0].variant = "w";
  const RankJudgement judged = judge_ranks(ranks, 0);
  EXPECT_THAT(judged.differences, IsEmpty());
  EXPECT_THAT(judged.compared, IsEmpty());
}

}  // namespace
}  // namespace assay::health
