// Waits and wait states: each rule fails with one wait state too few and passes with enough.
#include "emulator/hazards.h"

#include <gmock/gmock.h>

#include "emulator/fault.h"
#include "hand_made_wave.h"

namespace mi300x {
namespace {

/// The complaint of the check about a sequence of instructions; empty if it has none.
std::string verdict(const std::vector<std::string>& lines, const std::string& arch = "gfx942",
                    FaultKind* kind = nullptr) {
  std::vector<Instruction> code;
  for (const std::string& line : lines) code.push_back(decode(line, arch));
  HazardCheck check;
  Wave wave;
  try {
    for (const Instruction& instruction : code) check.before(wave, instruction);
  } catch (const Fault& fault) {
    if (kind) *kind = fault.kind;
    return fault.what();
  }
  return "";
}

struct Case {
  const char* arch;
  const char* first;
  const char* second;
  unsigned states;
};

class WaitStates : public ::testing::TestWithParam<Case> {};

TEST_P(WaitStates, AreNeededAndEnough) {
  const Case& one = GetParam();
  const auto with = [&](unsigned states) {
    std::vector<std::string> lines = {one.first};
    for (; states > 8; states -= 8) lines.push_back("s_nop 7");
    if (states > 0) lines.push_back("s_nop " + std::to_string(states - 1));
    lines.push_back(one.second);
    return lines;
  };
  EXPECT_EQ(verdict(with(one.states), one.arch), "");
  if (one.states == 0) return;
  FaultKind kind{};
  const std::string said = verdict(with(one.states - 1), one.arch, &kind);
  EXPECT_THAT(said, ::testing::HasSubstr(std::to_string(one.states) + " wait states needed"));
  EXPECT_EQ(kind, FaultKind::missing_nop);
}

constexpr const char* new_f16 = "v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[34:35], v[0:15]";
constexpr const char* short_f16 = "v_mfma_f32_16x16x16_f16 v[0:3], v[32:33], v[34:35], v[0:3]";
constexpr const char* tiny_f16 = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[32:33], v[34:35], v[0:3]";
constexpr const char* long_f16 = "v_mfma_f32_32x32x4_2b_f16 a[0:31], v[32:33], v[34:35], a[0:31]";
constexpr const char* f32 = "v_mfma_f32_32x32x2_f32 v[0:15], v32, v33, v[0:15]";
constexpr const char* f64 = "v_mfma_f64_16x16x4_f64 v[0:7], v[32:33], v[34:35], v[0:7]";
constexpr const char* small_f64 = "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[32:33], v[34:35], v[0:1]";
constexpr const char* old_f16 = "v_mfma_f32_32x32x8f16 v[0:15], v[32:33], v[34:35], v[0:15]";
constexpr const char* old_16 = "v_mfma_f32_16x16x16f16 v[0:3], v[32:33], v[34:35], v[0:3]";
constexpr const char* old_4 = "v_mfma_f32_4x4x4f16 v[0:3], v[32:33], v[34:35], v[0:3]";
constexpr const char* old_f64 = "v_mfma_f64_16x16x4f64 v[0:7], v[32:33], v[34:35], v[0:7]";
constexpr const char* old_small_f64 = "v_mfma_f64_4x4x4f64 v[0:1], v[32:33], v[34:35], v[0:1]";

// clang-format off
constexpr Case cases[] = {
    {"gfx942", "v_readfirstlane_b32 s4, v0", "global_load_dword v1, v2, s[4:5]", 5},
    {"gfx90a", "v_readfirstlane_b32 s4, v0", "global_load_dword v1, v2, s[4:5]", 5},
    {"gfx942", "v_readfirstlane_b32 s4, v0", "global_load_dword v1, v2, s[6:7]", 0},
    {"gfx942", "v_readfirstlane_b32 s4, v0", "v_readlane_b32 s5, v2, s4", 4},
    {"gfx90a", "v_readfirstlane_b32 s4, v0", "v_writelane_b32 v1, s6, s4", 4},
    {"gfx942", "v_cmp_eq_u32_e32 vcc, v0, v1", "v_div_fmas_f32 v2, v3, v4, v5", 4},
    {"gfx942", "v_cmpx_eq_u32_e32 v0, v1", "v_mov_b32_dpp v2, v3 row_shl:1 row_mask:0xf bank_mask:0xf", 5},
    {"gfx942", "v_add_u32_e32 v3, v0, v1", "v_mov_b32_dpp v2, v3 row_shl:1 row_mask:0xf bank_mask:0xf", 2},
    {"gfx90a", "v_add_u32_e32 v3, v0, v1", "v_mov_b32_dpp v2, v3 row_shl:1 row_mask:0xf bank_mask:0xf", 2},
    {"gfx942", "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s0", "s_getreg_b32 s1, hwreg(HW_REG_MODE, 0, 4)", 2},
    {"gfx942", "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s0", "s_getreg_b32 s1, hwreg(HW_REG_LDS_ALLOC)", 0},
    {"gfx942", "s_mov_b32 m0, s0", "global_load_lds_dword v[0:1], off", 1},
    {"gfx942", "global_store_dwordx4 v[0:1], v[4:7], off", "v_mov_b32_e32 v6, 0", 2},
    {"gfx90a", "global_store_dwordx4 v[0:1], v[4:7], off", "v_mov_b32_e32 v6, 0", 1},
    {"gfx942", "global_store_dwordx2 v[0:1], v[4:5], off", "v_mov_b32_e32 v4, 0", 0},
    {"gfx942", "v_rcp_f32_e32 v1, v0", "v_add_f32_e32 v2, v1, v1", 1},
    {"gfx90a", "v_rcp_f32_e32 v1, v0", "v_add_f32_e32 v2, v1, v1", 0},
    {"gfx942", "v_rcp_f32_e32 v1, v0", "v_rcp_f32_e32 v2, v1", 0},
    {"gfx942", "v_add_u16_sdwa v1, v0, v0 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD", "v_add_u32_e32 v2, v1, v3", 1},
    {"gfx942", "v_add_co_u32_e32 v0, vcc, v1, v2", "v_addc_co_u32_e32 v3, vcc, v4, v5, vcc", 2},
    {"gfx90a", "v_add_co_u32_e32 v0, vcc, v1, v2", "v_addc_co_u32_e32 v3, vcc, v4, v5, vcc", 0},
    {"gfx942", "v_readfirstlane_b32 s4, v0", "v_mov_b32_e32 v1, s4", 2},
    {"gfx942", "v_cmpx_eq_u32_e32 v0, v1", "v_readfirstlane_b32 s4, v2", 4},
    {"gfx942", "v_mov_b32_e32 v0, v1", "v_readfirstlane_b32 s4, v0", 1},
    {"gfx90a", "v_mov_b32_e32 v0, v1", "v_readfirstlane_b32 s4, v0", 0},
    {"gfx942", "v_dot4_i32_i8 v0, v1, v2, v3", "v_add_u32_e32 v4, v0, v5", 3},
    {"gfx942", "v_dot4_i32_i8 v0, v1, v2, v3", "v_dot4_i32_i8 v0, v4, v5, v0", 0},
    {"gfx942", "v_dot4_i32_i8 v0, v1, v2, v3", "v_dot4_i32_i8 v6, v0, v5, v6", 3},
    {"gfx942", "v_dot4_i32_i8 v0, v1, v2, v3", "v_mov_b32_e32 v0, 0", 3},
    // matrix: VALU before
    {"gfx942", "v_cmpx_eq_u32_e32 v0, v1", new_f16, 4},
    {"gfx942", "v_mov_b32_e32 v32, 0", new_f16, 2},
    {"gfx90a", "v_mov_b32_e32 v35, 0", old_f16, 2},
    {"gfx942", "v_accvgpr_write_b32 a3, v0", long_f16, 2},
    // matrix reads A or B
    {"gfx942", new_f16, "v_mfma_f32_32x32x8_f16 v[48:63], v[0:1], v[34:35], v[48:63]", 11},
    {"gfx942", short_f16, "v_mfma_f32_32x32x8_f16 v[48:63], v[34:35], v[2:3], v[48:63]", 7},
    {"gfx942", tiny_f16, "v_mfma_f32_32x32x8_f16 v[48:63], v[34:35], v[2:3], v[48:63]", 5},
    {"gfx942", long_f16, "v_mfma_f32_32x32x8_f16 v[48:63], a[0:1], v[34:35], v[48:63]", 19},
    {"gfx942", f32, "v_mfma_f32_32x32x2_f32 v[48:63], v0, v33, v[48:63]", 18},
    {"gfx942", f64, "v_mfma_f64_16x16x4_f64 v[48:55], v[0:1], v[34:35], v[48:55]", 11},
    {"gfx942", small_f64, "v_mfma_f64_16x16x4_f64 v[48:55], v[0:1], v[34:35], v[48:55]", 6},
    {"gfx90a", old_f16, "v_mfma_f32_32x32x8f16 v[48:63], v[0:1], v[34:35], v[48:63]", 19},
    {"gfx90a", old_16, "v_mfma_f32_32x32x8f16 v[48:63], v[0:1], v[34:35], v[48:63]", 11},
    {"gfx90a", old_4, "v_mfma_f32_32x32x8f16 v[48:63], v[0:1], v[34:35], v[48:63]", 5},
    // matrix reads C
    {"gfx942", new_f16, new_f16, 0},
    {"gfx942", tiny_f16, tiny_f16, 2},
    {"gfx90a", old_4, old_4, 0},
    {"gfx942", small_f64, small_f64, 4},
    {"gfx942", new_f16, "v_mfma_f32_16x16x16_f16 v[48:51], v[32:33], v[34:35], v[4:7]", 9},
    {"gfx942", f32, "v_mfma_f32_16x16x4_f32 v[48:51], v32, v33, v[4:7]", 16},
    {"gfx942", f32, "v_mfma_f32_16x16x16_f16 v[48:51], v[32:33], v[34:35], v[4:7]", 0},
    {"gfx90a", old_f16, "v_mfma_f32_16x16x16f16 v[48:51], v[32:33], v[34:35], v[4:7]", 16},
    {"gfx90a", old_f16, "v_mfma_f64_16x16x4f64 v[48:55], v[32:33], v[34:35], v[4:11]", 17},
    {"gfx942", f64, "v_mfma_f64_4x4x4_4b_f64 v[48:49], v[32:33], v[34:35], v[4:5]", 9},
    {"gfx90a", old_small_f64, "v_mfma_f64_16x16x4f64 v[48:55], v[32:33], v[34:35], v[0:7]", 4},
    {"gfx90a", old_f64, "v_mfma_f32_16x16x16f16 v[48:51], v[32:33], v[34:35], v[4:7]", 0},
    // others read
    {"gfx942", new_f16, "v_mov_b32_e32 v40, v3", 11},
    {"gfx942", new_f16, "global_store_dword v[40:41], v3, off", 11},
    {"gfx942", short_f16, "ds_write_b32 v40, v3", 7},
    {"gfx942", long_f16, "v_accvgpr_read_b32 v40, a31", 19},
    {"gfx942", f32, "v_mov_b32_e32 v40, v3", 18},
    {"gfx942", f64, "v_mov_b32_e32 v40, v3", 11},
    {"gfx942", f64, "global_store_dword v[40:41], v3, off", 18},
    {"gfx942", small_f64, "v_mov_b32_e32 v40, v1", 6},
    {"gfx942", small_f64, "global_store_dword v[40:41], v1, off", 9},
    {"gfx90a", old_f16, "v_mov_b32_e32 v40, v3", 19},
    {"gfx90a", old_16, "global_store_dword v[40:41], v3, off", 11},
    {"gfx90a", old_4, "v_mov_b32_e32 v40, v3", 5},
    // others write
    {"gfx942", new_f16, "v_mov_b32_e32 v3, 0", 11},
    {"gfx942", short_f16, "global_load_dword v3, v[40:41], off", 7},
    {"gfx942", f64, "v_mov_b32_e32 v3, 0", 11},
    {"gfx90a", old_f16, "v_mov_b32_e32 v3, 0", 19},
    {"gfx942", "v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[34:35], v[48:63]", "v_mov_b32_e32 v50, 0", 7},
    {"gfx942", "v_mfma_f32_16x16x16_f16 v[0:3], v[32:33], v[34:35], v[48:51]", "v_mov_b32_e32 v50, 0", 3},
    {"gfx942", "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[32:33], v[34:35], v[48:51]", "v_mov_b32_e32 v50, 0", 1},
    {"gfx942", "v_mfma_f32_32x32x2_f32 v[0:15], v32, v33, v[48:63]", "v_mov_b32_e32 v50, 0", 0},
    {"gfx90a", "v_mfma_f32_32x32x8f16 v[0:15], v[32:33], v[34:35], v[48:63]", "v_mov_b32_e32 v50, 0", 15},
    {"gfx942", f64, "v_fma_f64 v[40:41], v[42:43], v[44:45], v[46:47]", 2},
    {"gfx942", f64, "v_add_f64 v[40:41], v[42:43], v[44:45]", 0},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Hazards, WaitStates, ::testing::ValuesIn(cases));

TEST(Hazards, OtherInstructionsCountAsWaitStates) {
  EXPECT_EQ(verdict({"v_mov_b32_e32 v0, v1", "s_mov_b32 s0, 0", "v_readfirstlane_b32 s4, v0"}), "");
}

// ---- s_waitcnt ----

void expect_missing_wait(const std::vector<std::string>& lines, const std::string& what,
                         const std::string& arch = "gfx942") {
  FaultKind kind{};
  EXPECT_THAT(verdict(lines, arch, &kind), ::testing::StartsWith(what));
  EXPECT_EQ(kind, FaultKind::missing_wait);
}

TEST(Waits, LoadedRegister) {
  const std::string load = "global_load_dwordx2 v[2:3], v[0:1], off";
  expect_missing_wait({load, "v_mov_b32_e32 v4, v3"},
                      "v3 read before the s_waitcnt that covers \"" + load + "\"");
  expect_missing_wait({load, "v_mov_b32_e32 v3, 0"}, "v3 written");
  expect_missing_wait({load, "s_waitcnt lgkmcnt(0)", "v_mov_b32_e32 v4, v3"}, "v3 read");
  EXPECT_EQ(verdict({load, "s_waitcnt vmcnt(0)", "v_mov_b32_e32 v4, v3"}), "");
  EXPECT_EQ(verdict({load, "v_mov_b32_e32 v4, v1", "s_endpgm"}), "");
}

TEST(Waits, VectorMemoryReturnsInOrder) {
  const std::vector<std::string> loads = {"global_load_dword v2, v[0:1], off",
                                          "global_load_dword v3, v[0:1], off",
                                          "global_store_dword v[0:1], v6, off"};
  auto with = loads;
  with.insert(with.end(), {"s_waitcnt vmcnt(2)", "v_mov_b32_e32 v4, v2"});
  EXPECT_EQ(verdict(with), "");
  with.push_back("v_mov_b32_e32 v4, v3");
  expect_missing_wait(with, "v3 read");
  with.back() = "s_waitcnt vmcnt(1)";
  with.push_back("v_mov_b32_e32 v4, v3");
  EXPECT_EQ(verdict(with), "");  // the store counts too
}

TEST(Waits, LoadsOfOneQueueMayShareATarget) {
  EXPECT_EQ(verdict({"global_load_dword v2, v[0:1], off", "global_load_dword v2, v[0:1], off"}),
            "");
  expect_missing_wait({"global_load_dword v2, v[0:1], off", "ds_read_b32 v2, v0"}, "v2 written");
}

TEST(Waits, ScalarLoadsReturnInAnyOrder) {
  const std::string load = "s_load_dwordx2 s[2:3], s[0:1], 0x0";
  expect_missing_wait({load, "s_add_u32 s4, s3, s5"}, "s3 read");
  expect_missing_wait(
      {load, "s_load_dword s6, s[0:1], 0x8", "s_waitcnt lgkmcnt(1)", "s_add_u32 s4, s3, s5"},
      "s3 read");
  EXPECT_EQ(verdict({load, "s_waitcnt lgkmcnt(0)", "s_add_u32 s4, s3, s5"}), "");
  expect_missing_wait({load, "s_load_dword s2, s[0:1], 0x8"}, "s2 written");
}

TEST(Waits, LdsReturnsInOrder) {
  const std::vector<std::string> reads = {"ds_read_b32 v2, v0", "ds_read_b32 v3, v0",
                                          "s_waitcnt lgkmcnt(1)"};
  auto with = reads;
  with.push_back("v_mov_b32_e32 v4, v2");
  EXPECT_EQ(verdict(with), "");
  with.push_back("v_mov_b32_e32 v4, v3");
  expect_missing_wait(with, "v3 read");
}

TEST(Waits, FlatCountsInBoth) {
  const std::string load = "flat_load_dword v2, v[0:1]";
  expect_missing_wait({load, "s_waitcnt vmcnt(0)", "v_mov_b32_e32 v4, v2"}, "v2 read");
  expect_missing_wait({load, "s_waitcnt lgkmcnt(0)", "v_mov_b32_e32 v4, v2"}, "v2 read");
  EXPECT_EQ(verdict({load, "s_waitcnt vmcnt(0) lgkmcnt(0)", "v_mov_b32_e32 v4, v2"}), "");
  EXPECT_EQ(verdict({load, "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)", "v_mov_b32_e32 v4, v2"}),
            "");
  // While it is in flight, a count above 0 says nothing about other operations.
  expect_missing_wait(
      {"global_load_dword v3, v[0:1], off", load, "s_waitcnt vmcnt(1)", "v_mov_b32_e32 v4, v3"},
      "v3 read");
}

TEST(Waits, CountersSaturate) {
  std::vector<std::string> lines = {"global_load_dword v2, v[0:1], off"};
  for (int n = 0; n < 63; ++n) lines.push_back("global_store_dword v[0:1], v6, off");
  lines.push_back("v_mov_b32_e32 v4, v2");
  EXPECT_EQ(verdict(lines), "");  // the 64th could be issued because the first had completed
  lines.erase(lines.begin() + 1);
  expect_missing_wait(lines, "v2 read");
}

TEST(Waits, LdsWritesAtABarrier) {
  const auto pending_after = [](const std::vector<std::string>& lines) {
    std::vector<Instruction> code;
    for (const std::string& line : lines) code.push_back(decode(line, "gfx942"));
    HazardCheck check;
    Wave wave;
    for (const Instruction& instruction : code) check.before(wave, instruction);
    return check.local_writes_pending();
  };
  EXPECT_TRUE(pending_after({"ds_write_b32 v0, v1"}));
  EXPECT_FALSE(pending_after({"ds_write_b32 v0, v1", "s_waitcnt lgkmcnt(0)"}));
  EXPECT_FALSE(pending_after({"ds_read_b32 v1, v0"}));
  EXPECT_FALSE(
      pending_after({"ds_write_b32 v0, v1", "ds_read_b32 v2, v0", "s_waitcnt lgkmcnt(1)"}));
  EXPECT_TRUE(pending_after({"ds_add_u32 v0, v1"}));
  EXPECT_TRUE(pending_after({"flat_store_dword v[0:1], v2", "s_waitcnt vmcnt(0)"}));
  EXPECT_FALSE(pending_after({"flat_store_dword v[0:1], v2", "s_waitcnt lgkmcnt(0)"}));
  EXPECT_TRUE(pending_after({"s_mov_b32 m0, 0", "s_nop 0", "global_load_lds_dword v[0:1], off"}));
}

}  // namespace
}  // namespace mi300x
