// The exact occupancy: thresholds, every limit, what to save, and the guide's formula beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/occupancy/guide.h"
#include "advise/occupancy/occupancy.h"

namespace assay::occupancy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

KernelUse use_of(unsigned vgprs, std::uint64_t lds = 0, unsigned sgprs = 16) {
  KernelUse use;
  use.vgprs = vgprs;
  use.sgprs = sgprs;
  use.shared_bytes = lds;
  return use;
}

Occupancy amd(const char* arch, const KernelUse& use, unsigned threads) {
  return occupancy_of(*find_amd(arch), use, {threads, 0});
}

Occupancy nvidia(const char* arch, const KernelUse& use, unsigned threads,
                 std::uint64_t dynamic = 0) {
  return occupancy_of(*find_nvidia(arch), use, {threads, dynamic});
}

TEST(OccupancyFormula, EveryStepOfTheVgprTable) {
  const std::pair<unsigned, unsigned> most_for[] = {{64, 8},  {72, 7},  {80, 6},  {96, 5},
                                                    {128, 4}, {168, 3}, {256, 2}, {512, 1}};
  for (const char* arch : {"gfx90a", "gfx942", "gfx950"}) {
    for (const auto& [vgprs, waves] : most_for) {
      EXPECT_EQ(amd(arch, use_of(vgprs), 256).waves_per_simd(), waves) << vgprs;
      EXPECT_EQ(amd(arch, use_of(vgprs + 1), 256).waves_per_simd(), waves - 1) << vgprs + 1;
    }
  }
}

TEST(OccupancyFormula, ThreadsThatFillNoWaveCountAsOne) {
  EXPECT_EQ(amd("gfx942", use_of(32), 65).waves_per_group, 2u);
  EXPECT_EQ(amd("gfx942", use_of(32), 64).waves_per_group, 1u);
  EXPECT_EQ(nvidia("sm_90", use_of(32), 33).waves_per_group, 2u);
}

TEST(OccupancyFormula, LdsIsAllocatedInGranules) {
  EXPECT_EQ(amd("gfx942", use_of(32, 21504), 256).groups, 3u);  // 42 granules of 512
  EXPECT_EQ(amd("gfx942", use_of(32, 21505), 256).groups, 2u);
  EXPECT_EQ(amd("gfx942", use_of(32, 65536), 256).groups, 1u);
  EXPECT_EQ(amd("gfx942", use_of(32, 65537), 256).groups, 0u);
  EXPECT_EQ(amd("gfx950", use_of(32, 65537), 256).groups, 2u);
  EXPECT_EQ(amd("gfx950", use_of(32, 81920), 256).groups, 2u);  // 64 granules of 1280
  EXPECT_EQ(amd("gfx950", use_of(32, 81921), 256).groups, 1u);
  EXPECT_EQ(amd("gfx950", use_of(32, 163840), 256).groups, 1u);
}

TEST(OccupancyFormula, DynamicLdsCountsToo) {
  EXPECT_EQ(occupancy_of(*find_amd("gfx942"), use_of(32, 16384), {256, 16384}).groups, 2u);
}

TEST(OccupancyFormula, LargeGroupsLeaveWavesUnused) {
  // 128 VGPRs: 16 waves fit; groups of 12 waves fit once, 3 waves per SIMD.
  const Occupancy occupancy = amd("gfx942", use_of(128), 768);
  EXPECT_EQ(occupancy.groups, 1u);
  EXPECT_EQ(occupancy.waves_per_simd(), 3);
}

TEST(OccupancyFormula, SmallGroupsAreBoundByWaveSlotsAndBarriers) {
  EXPECT_EQ(amd("gfx942", use_of(32), 64).groups, 32u);
  EXPECT_EQ(amd("gfx942", use_of(32), 128).groups, 16u);
  EXPECT_EQ(amd("gfx942", use_of(32), 128).limiter, "wave slots and barriers");
}

TEST(OccupancyFormula, MoreThan96SgprsCostAWave) {
  EXPECT_EQ(amd("gfx942", use_of(32, 0, 96), 256).waves_per_simd(), 8);
  EXPECT_EQ(amd("gfx942", use_of(32, 0, 97), 256).waves_per_simd(), 7);
  EXPECT_EQ(amd("gfx942", use_of(32, 0, 97), 256).limiter, "SGPRs");
}

TEST(OccupancyFormula, SavingsAreTheLeastThatHelp) {
  const Occupancy by_vgprs = amd("gfx942", use_of(132), 256);
  EXPECT_EQ(by_vgprs.limiter, "VGPRs");
  ASSERT_EQ(by_vgprs.savings.size(), 1u);
  EXPECT_EQ(by_vgprs.savings[0].amount, 4u);
  EXPECT_EQ(by_vgprs.next_groups, 4u);

  const Occupancy by_both = amd("gfx942", use_of(132, 20000), 256);
  EXPECT_EQ(by_both.limiter, "VGPRs and LDS");
  ASSERT_EQ(by_both.savings.size(), 2u);
  EXPECT_EQ(by_both.savings[0].amount, 4u);
  EXPECT_EQ(by_both.savings[1].amount, 20000u - 16384u);
  EXPECT_EQ(amd("gfx942", use_of(128, 16384), 256).groups, 4u);

  EXPECT_THAT(amd("gfx942", use_of(64), 256).savings, IsEmpty());
}

TEST(OccupancyFormula, SavingsOnOneResourceMayMakeRoomForSeveralGroups) {
  const Occupancy occupancy = amd("gfx942", use_of(8, 4096), 64);
  ASSERT_EQ(occupancy.groups, 16u);
  EXPECT_EQ(occupancy.savings[0].amount, 512u);
  EXPECT_EQ(occupancy.next_groups, 18u);
  EXPECT_EQ(amd("gfx942", use_of(8, 4096 - 512), 64).groups, 18u);
}

TEST(OccupancyFormula, WhatDoesNotFitSaysWhatWould) {
  const Occupancy occupancy = amd("gfx942", use_of(32, 70000), 256);
  EXPECT_EQ(occupancy.groups, 0u);
  EXPECT_EQ(occupancy.limiter, "LDS");
  EXPECT_EQ(occupancy.savings[0].amount, 70000u - 65536u);
}

TEST(OccupancyFormula, NvidiaRegistersAreAllocatedPerWarpAndSubPartition) {
  EXPECT_EQ(nvidia("sm_90", use_of(32), 256).groups, 8u);
  EXPECT_EQ(nvidia("sm_90", use_of(33), 256).groups, 6u);  // 40 x 32: 12 warps per sub-partition
  EXPECT_EQ(nvidia("sm_90", use_of(33), 96).groups, 16u);  // 48 warps, although 51 x 1280 would fit
  EXPECT_EQ(nvidia("sm_90", use_of(64), 1024).groups, 1u);
  EXPECT_EQ(nvidia("sm_90", use_of(65), 1024).groups, 0u);
  EXPECT_EQ(nvidia("sm_90", use_of(168), 64).groups, 6u);
  EXPECT_EQ(nvidia("sm_90", use_of(255), 256).groups, 1u);
  EXPECT_EQ(nvidia("sm_90", use_of(256), 32).groups, 0u);
}

TEST(OccupancyFormula, NvidiaSharedMemoryHasAReserveFromSm80On) {
  EXPECT_EQ(nvidia("sm_90", use_of(32, 0), 32).limiter, "block slots");
  EXPECT_EQ(nvidia("sm_90", use_of(16, 227 * 1024), 128).groups, 1u);
  EXPECT_EQ(nvidia("sm_90", use_of(16, 227 * 1024 + 1), 128).groups, 0u);
  EXPECT_EQ(nvidia("sm_90", use_of(16, 113 * 1024), 128).groups, 2u);
  EXPECT_EQ(nvidia("sm_90", use_of(16, 113 * 1024 + 1), 128).groups, 1u);
  EXPECT_EQ(nvidia("sm_90", use_of(16, 1024), 128, 112 * 1024).groups, 2u);
  EXPECT_EQ(nvidia("sm_75", use_of(16, 32 * 1024), 128).groups, 2u);
}

TEST(OccupancyFormula, NvidiaBarriersLimitFromSm90On) {
  KernelUse use = use_of(16);
  use.barriers = 16;
  EXPECT_EQ(nvidia("sm_90", use, 64).groups, 4u);
  EXPECT_EQ(nvidia("sm_80", use, 64).groups, 32u);
}

TEST(OccupancyFormula, ArchitecturesGoByAllTheirNames) {
  EXPECT_EQ(find_amd("gfx942:sramecc+:xnack-")->arch, "gfx942");
  EXPECT_EQ(find_amd("gfx94"), nullptr);
  EXPECT_EQ(find_nvidia("sm_90a")->arch, "sm_90");
  EXPECT_EQ(find_nvidia("compute_120f")->arch, "sm_120");
  EXPECT_EQ(find_nvidia("sm_60"), nullptr);
  EXPECT_EQ(find_nvidia(""), nullptr);
  EXPECT_THAT(known_archs(), HasSubstr("gfx90a, "));
}

GuideFigure guide(const char* arch, const KernelUse& use, unsigned threads) {
  const AmdLimits& limits = *find_amd(arch);
  const Geometry geometry = {threads, 0};
  return guide_figure(limits, use, geometry, occupancy_of(limits, use, geometry));
}

TEST(OccupancyGuide, AgreesInTheCommonCase) {
  const GuideFigure figure = guide("gfx942", use_of(128, 16384), 256);
  EXPECT_EQ(figure.waves_per_simd, 4);
  EXPECT_THAT(figure.differences, IsEmpty());
}

TEST(OccupancyGuide, SaysWhereItDividesByZero) {
  EXPECT_THAT(guide("gfx942", use_of(128), 256).differences, ElementsAre(HasSubstr("which is 0")));
}

TEST(OccupancyGuide, SaysWhenLdsIsRoundedUp) {
  const GuideFigure figure = guide("gfx942", use_of(32, 21840), 256);
  EXPECT_EQ(figure.waves_per_simd, 3);
  EXPECT_EQ(amd("gfx942", use_of(32, 21840), 256).waves_per_simd(), 2);
  EXPECT_THAT(figure.differences,
              ElementsAre(HasSubstr("21840 bytes of LDS are allocated as 22016")));
}

TEST(OccupancyGuide, SaysThatGfx950HasMoreLds) {
  const GuideFigure figure = guide("gfx950", use_of(32, 40960), 256);
  EXPECT_EQ(figure.waves_per_simd, 1);
  EXPECT_EQ(amd("gfx950", use_of(32, 40960), 256).waves_per_simd(), 4);
  EXPECT_THAT(figure.differences, ElementsAre(HasSubstr("gfx950 has 163840")));
}

TEST(OccupancyGuide, SaysThatItDoesNotSeeSgprs) {
  const GuideFigure figure = guide("gfx942", use_of(32, 4096, 104), 256);
  EXPECT_EQ(figure.waves_per_simd, 8);
  EXPECT_THAT(figure.differences, ElementsAre(HasSubstr("104 SGPRs")));
}

TEST(OccupancyGuide, SaysWhereItsTextAndItsTableDiffer) {
  const GuideFigure figure = guide("gfx942", use_of(168, 16384), 256);
  EXPECT_EQ(figure.waves_per_simd, 3);
  EXPECT_THAT(figure.differences, ElementsAre(HasSubstr("gives 2 waves for 168")));
  EXPECT_THAT(guide("gfx942", use_of(170, 16384), 256).differences, IsEmpty());
}

}  // namespace
}  // namespace assay::occupancy
