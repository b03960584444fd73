// The instruction scan on short texts of a compiler and of a disassembler.
#include "advise/occupancy/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::occupancy {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* compiled = R"(
	.text
	.protected	kernel                  ; -- Begin function kernel
kernel:                                 ; @kernel
; %bb.0:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	global_load_dword v9, v0, s[2:3]
	s_waitcnt vmcnt(0) lgkmcnt(0)
.LBB0_1:                                ; =>This Loop Header: Depth=1
	global_load_dwordx4 v[0:3], v8, s[2:3]
	global_load_ushort v4, v8, s[2:3] offset:16
	s_waitcnt vmcnt(0)
.LBB0_2:
	ds_read_b128 v[4:7], v9
	ds_read2_b32 v[10:11], v9 offset1:1
	ds_write2st64_b64 v9, v[0:1], v[2:3]
	s_waitcnt vmcnt(1) lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
	v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]
	s_cbranch_scc1 .LBB0_2
	s_cbranch_vccnz .LBB0_1
	scratch_store_dword off, v1, s32 offset:4 ; 4-byte Folded Spill
	s_cbranch_scc0 .LBB0_4
	s_nop 0
.LBB0_4:
	s_endpgm
	s_nop 0
.Lfunc_end0:
	.size	kernel, .Lfunc_end0-kernel
data:
	.long 1
)";

const Finding* find(const Scan& scan, std::string_view what) {
  for (const Finding& finding : scan.findings) {
    if (finding.what == what) return &finding;
  }
  return nullptr;
}

Scan scan_compiled() {
  const auto functions = read_listing(compiled);
  EXPECT_EQ(functions.size(), 1u);  // data contain no instructions
  EXPECT_EQ(functions[0].name, "kernel");
  return scan(functions[0], {}, "gfx942");
}

TEST(OccupancyScan, CountsInstructionsAndLoopsWithoutPadding) {
  const Scan found = scan_compiled();
  EXPECT_EQ(found.instructions, 18u);
  EXPECT_EQ(found.loops, 2u);
  EXPECT_FALSE(found.calls);
}

TEST(OccupancyScan, LoadsByWidthAreAdvisedOnWhereTheyMatter) {
  const Scan found = scan_compiled();
  EXPECT_EQ(find(found, "global_load_dwordx4")->bytes, 16u);
  EXPECT_EQ(find(found, "global_load_dwordx4")->in_loops, 1u);
  EXPECT_THAT(find(found, "global_load_dwordx4")->advice, IsEmpty());
  EXPECT_EQ(find(found, "global_load_ushort")->bytes, 2u);
  EXPECT_THAT(find(found, "global_load_ushort")->advice, HasSubstr("global_load_dwordx4"));
  EXPECT_THAT(find(found, "global_load_ushort")->source, HasSubstr("ISA assembly analysis"));
  EXPECT_THAT(find(found, "global_load_dword")->advice, IsEmpty()) << "outside any loop";
}

TEST(OccupancyScan, LdsByWidthCountsPairs) {
  const Scan found = scan_compiled();
  EXPECT_EQ(find(found, "ds_read_b128")->bytes, 16u);
  EXPECT_THAT(find(found, "ds_read_b128")->advice, IsEmpty());
  EXPECT_EQ(find(found, "ds_read2_b32")->bytes, 8u);
  EXPECT_THAT(find(found, "ds_read2_b32")->advice, HasSubstr("_b128"));
  EXPECT_EQ(find(found, "ds_write2st64_b64")->bytes, 16u);
}

TEST(OccupancyScan, MfmaShapes) {
  const Scan found = scan_compiled();
  EXPECT_THAT(find(found, "f32_32x32x8_f16")->advice, HasSubstr("mfma_16x16"));
  EXPECT_THAT(find(found, "f32_16x16x16_f16")->advice, IsEmpty());
}

TEST(OccupancyScan, WaitsForEverythingMatterInLoops) {
  const Scan found = scan_compiled();
  EXPECT_EQ(find(found, "vmcnt(0)")->count, 2u);
  EXPECT_EQ(find(found, "vmcnt(0)")->in_loops, 1u);
  EXPECT_THAT(find(found, "vmcnt(0)")->advice, HasSubstr("next tile"));
  EXPECT_EQ(find(found, "lgkmcnt(0)")->count, 2u);
  EXPECT_EQ(find(found, "lgkmcnt(0)")->in_loops, 1u);
}

TEST(OccupancyScan, ScratchTraffic) {
  const Scan found = scan_compiled();
  EXPECT_EQ(find(found, "scratch_store_dword")->topic, "scratch");
  EXPECT_EQ(find(found, "scratch_store_dword")->bytes, 4u);
  EXPECT_THAT(find(found, "scratch_store_dword")->source, HasSubstr("Memory usage"));
}

TEST(OccupancyScan, OnGfx90aBuffersOfTheDriverAreScratch) {
  const auto functions = read_listing(
      "k:\n\tbuffer_store_dword v40, off, s[0:3], 0 offset:4\n"
      "\tbuffer_load_dwordx2 v[0:1], v2, s[4:7], 0 offen\n");
  KernelUse spills;
  spills.scratch_bytes = 8;
  for (const char* arch : {"gfx908", "gfx90a"}) {
    EXPECT_EQ(find(scan(functions.at(0), spills, arch), "buffer_store_dword")->topic, "scratch");
  }
  EXPECT_EQ(find(scan(functions.at(0), spills, "gfx90a"), "buffer_load_dwordx2")->topic,
            "global load");
  EXPECT_EQ(find(scan(functions.at(0), {}, "gfx90a"), "buffer_store_dword"), nullptr);
}

TEST(OccupancyScan, DisassembledBranchesGoByAddress) {
  const auto functions = read_listing(R"(
k.co:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001c00 <first>:
	s_mov_b32 s0, 0                                            // 000000001C00: BE800080
	global_load_dwordx2 v[0:1], v0, s[2:3]                     // 000000001C04: DC508000 01020000
	s_cbranch_scc0 65533                                       // 000000001C0C: BF84FFFD <first+0x4>
	s_cbranch_scc0 1                                           // 000000001C10: BF840001 <first+0x18>
	s_cbranch_scc0 40000                                       // 000000001C14: BF849C40
	s_swappc_b64 s[30:31], s[4:5]                              // 000000001C18: BE9E1E04
	s_endpgm                                                   // 000000001C1C: BF810000
	s_nop 0                                                    // 000000001C20: BF800000

0000000000001d00 <second>:
	s_endpgm                                                   // 000000001D00: BF810000
)");
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[1].name, "second");
  const Scan found = scan(functions[0], {}, "gfx942");
  EXPECT_EQ(found.instructions, 7u);
  EXPECT_EQ(found.loops, 1u);
  EXPECT_TRUE(found.calls);
  EXPECT_EQ(find(found, "global_load_dwordx2")->in_loops, 1u);
}

TEST(OccupancyScan, RubbishHasNoFunctionsOrHarmlessOnes) {
  EXPECT_TRUE(read_listing("").empty());
  EXPECT_TRUE(read_listing("s_endpgm").empty());  // outside any function
  EXPECT_TRUE(read_listing("\n\n; nothing\n// at all").empty());
  const auto functions = read_listing("a:\ns_branch\ns_branch a\ns_branch .L\n: <>:\n\x01");
  for (const Function& function : functions) EXPECT_EQ(scan(function, {}, "").loops, 0u);
}

}  // namespace
}  // namespace assay::occupancy
