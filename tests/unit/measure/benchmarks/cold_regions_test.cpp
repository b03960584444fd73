#include "measure/benchmarks/cold_regions.h"

#include <gtest/gtest.h>

#include <set>

#include "support/test_device.h"

namespace assay {
namespace {

TEST(ColdRegions, EveryRegionComesOnceBeforeAnyComesAgain) {
  const auto device = open_fake_device("noise=0");
  for (const std::size_t bytes : {1u, 256u, 257u, 4000u, 1u << 20}) {
    const std::uint64_t least = std::uint64_t{1} << 20;
    const auto regions = ColdRegions::create(*device, MemoryKind::device, bytes, least);
    ASSERT_TRUE(regions);
    std::set<std::byte*> seen;
    const std::byte* const begin = regions->whole().as<std::byte>();
    for (std::uint64_t turn = 0; turn < regions->count(); ++turn) {
      std::byte* const at = regions->region(turn);
      EXPECT_TRUE(seen.insert(at).second);
      EXPECT_GE(at, begin);
      EXPECT_LE(at + bytes, begin + regions->whole().bytes());
      EXPECT_EQ((at - begin) % 256, 0);
      EXPECT_EQ(at, regions->region(turn + 7 * regions->count()));
    }
    for (auto at = seen.begin(), next = std::next(at); next != seen.end(); ++at, ++next) {
      EXPECT_GE(static_cast<std::size_t>(*next - *at), bytes);  // regions do not overlap
    }
    EXPECT_GE(seen.size(), 2u);
    EXPECT_GE(regions->whole().bytes(), least);
    EXPECT_EQ(regions->whole().bytes(), ColdRegions::total_bytes(bytes, least));
  }
}

TEST(ColdRegions, NeighboursInTurnAreFarApart) {
  const auto device = open_fake_device("noise=0");
  const auto regions = ColdRegions::create(*device, MemoryKind::device, 4, std::uint64_t{1} << 20);
  ASSERT_TRUE(regions);
  for (std::uint64_t turn = 0; turn < 100; ++turn) {
    EXPECT_GT(std::abs(regions->region(turn + 1) - regions->region(turn)), 65536);
  }
}

TEST(ColdRegions, AsManyAsAskedFor) {
  EXPECT_EQ(ColdRegions::total_bytes(4, 0), 2u * 256);
  EXPECT_EQ(ColdRegions::total_bytes(4, 0, 20), 32u * 256);
  EXPECT_EQ(ColdRegions::total_bytes(std::uint64_t{16} << 30, 1 << 20), std::uint64_t{32} << 30);
}

TEST(ColdRegions, RanksOfOneHostShareTheCachesOfItsCpus) {
  class Four final : public Team {
   public:
    int rank() const override { return 1; }
    const std::string& secret() const override { return secret_; }
    const std::vector<TeamMember>& members() const override { return members_; }
    Result<std::vector<std::string>> exchange(std::string_view, std::string mine) override {
      return std::vector<std::string>(4, mine);
    }
    Status check_alive() override { return {}; }

   private:
    const std::string secret_;
    std::vector<TeamMember> members_ = {
        {0, 0, "a", 1}, {1, 1, "a", 2}, {2, 0, "b", 3}, {3, 1, "b", 4}};
  } team;
  DeviceFacts facts;
  facts.last_level_cache_bytes = 1000;
  facts.backend = "cpu";
  EXPECT_EQ(ranks_here(team), 2);
  EXPECT_EQ(cold_bytes(facts, 2), 1000u);
  facts.backend = "cuda";
  EXPECT_EQ(cold_bytes(facts, 2), 2000u);
}

}  // namespace
}  // namespace assay
