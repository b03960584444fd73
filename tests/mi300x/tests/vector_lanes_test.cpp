// DPP, SDWA, op_sel, indexing and moves between lanes; the names of all operations.
#include <cstdio>
#include <fstream>

#include "wave_fixture.h"

namespace mi300x {
namespace {

using VectorLanes = VectorTest;

struct LaneRule {
  const char* control;
  int (*source)(int lane);  ///< -1: none
};
constexpr LaneRule rules[] = {
    {"quad_perm:[3,0,1,1]",
     [](int l) {
       constexpr int order[] = {3, 0, 1, 1};
       return l / 4 * 4 + order[l % 4];
     }},
    {"row_shl:3", [](int l) { return l % 16 + 3 > 15 ? -1 : l + 3; }},
    {"row_shr:5", [](int l) { return l % 16 < 5 ? -1 : l - 5; }},
    {"row_ror:4", [](int l) { return l % 16 < 4 ? l + 12 : l - 4; }},
    {"wave_shl:1", [](int l) { return l == 63 ? -1 : l + 1; }},
    {"wave_rol:1", [](int l) { return l == 63 ? 0 : l + 1; }},
    {"wave_shr:1", [](int l) { return l - 1; }},
    {"wave_ror:1", [](int l) { return l == 0 ? 63 : l - 1; }},
    {"row_mirror", [](int l) { return l / 16 * 16 + 15 - l % 16; }},
    {"row_half_mirror", [](int l) { return l / 8 * 8 + 7 - l % 8; }},
    {"row_bcast:15", [](int l) { return l < 16 ? -1 : l / 16 * 16 - 1; }},
    {"row_bcast:31", [](int l) { return l < 32 ? -1 : 31; }},
    {"row_newbcast:7", [](int l) { return l / 16 * 16 + 7; }},
};

TEST_F(VectorLanes, DppReadsOtherLanes) {
  for (const LaneRule& rule : rules)
    for (const bool bound : {false, true})
      for (unsigned round = 0; round < 8; ++round) {
        hand.set(2, [&](unsigned) { return u32(values.bits()); });
        hand.set(10, 77);
        const u64 exec = values.mask();
        const unsigned rows = round % 2 ? 0xA : 0xF, banks = round % 3 ? 0xF : 0x6;
        hand.wave.set_exec(exec);
        char masks[64];
        std::snprintf(masks, sizeof masks, " row_mask:0x%x bank_mask:0x%x%s", rows, banks,
                      bound ? " bound_ctrl:1" : "");
        const std::string text = std::string("v_mov_b32_dpp v10, v2 ") + rule.control + masks;
        hand.execute(text);
        for (int lane = 0; lane < 64; ++lane) {
          const int source = rule.source(lane);
          const bool valid = source >= 0 && exec >> source & 1;
          const bool chosen = rows >> (lane / 16) & 1 && banks >> (lane % 16 / 4) & 1;
          const bool written = exec >> lane & 1 && chosen && (valid || bound);
          const u32 expected = !written ? 77 : valid ? hand.get(2, unsigned(source)) : 0;
          ASSERT_EQ(hand.get(10, unsigned(lane)), expected) << text << " lane " << lane;
        }
      }
}

TEST_F(VectorLanes, SdwaSelectsParts) {
  const char* parts[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
  const char* unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  const auto start = [](int part) { return part < 4 ? 8 * part : part < 6 ? 16 * (part - 4) : 0; };
  const auto bits = [](int part) { return part < 4 ? 8 : part < 6 ? 16 : 32; };
  for (int target = 0; target < 7; ++target)
    for (int filler = 0; filler < 3; ++filler)
      for (int source = 0; source < 7; ++source) {
        hand.set(2, [&](unsigned) { return u32(values.bits()); });
        hand.set(10, 0x5A5A5A5A);
        hand.execute(std::string("v_add_u32_sdwa v10, sext(v2), v2 dst_sel:") + parts[target] +
                         " dst_unused:" + unused[filler] + " src0_sel:" + parts[source] +
                         " src1_sel:BYTE_3",
                     "gfx90a");
        for (unsigned lane = 0; lane < 64; ++lane) {
          const u32 x = hand.get(2, lane);
          const i64 chosen = i64{x} >> start(source) & ((i64{1} << bits(source)) - 1);
          const i64 limit = i64{1} << (bits(source) - 1);
          const u32 sum = u32((chosen ^ limit) - limit + (x >> 24));
          const int low = start(target), size = bits(target);
          u32 expected = 0;
          for (int bit = 0; bit < 32; ++bit) {
            const bool inside = bit >= low && bit < low + size;
            const bool value = inside                     ? sum >> (bit - low) & 1
                               : filler == 2              ? 0x5A5A5A5Au >> bit & 1
                               : filler == 1 && bit > low ? sum >> (size - 1) & 1
                                                          : false;
            expected |= u32{value} << bit;
          }
          ASSERT_EQ(hand.get(10, lane), expected) << parts[target] << " " << unused[filler] << " "
                                                  << parts[source] << " " << std::hex << x;
        }
      }
}

TEST_F(VectorLanes, OpSelTakesHalves) {
  hand.set(2, 0x00030005);
  hand.set(4, 0x00070002);
  hand.set(10, 0xAAAABBBB);
  hand.execute("v_mad_u16 v10, v2, v4, 1 op_sel:[1,0,0,0]");
  EXPECT_EQ(hand.get(10, 0), 0xAAAA0007u) << "3 * 2 + 1, the other half kept";
  hand.execute("v_mad_u16 v10, v2, v4, 1 op_sel:[0,1,0,1]");
  EXPECT_EQ(hand.get(10, 0), 0x00240007u) << "5 * 7 + 1 into the high half";
  hand.execute("v_mul_lo_u16_e32 v10, v2, v4");
  EXPECT_EQ(hand.get(10, 0), 10u) << "the high half is cleared";
  hand.execute("v_pk_add_u16 v10, v2, v4");
  EXPECT_EQ(hand.get(10, 0), 0x000A0007u);
  hand.execute("v_pk_add_u16 v10, v2, v4 op_sel:[1,0] op_sel_hi:[0,0]");
  EXPECT_EQ(hand.get(10, 0), 0x00070005u);
  hand.execute("v_pk_sub_u16 v10, v4, v2 clamp");
  EXPECT_EQ(hand.get(10, 0), 0x00040000u);
}

TEST_F(VectorLanes, PairsOfFloats) {
  hand.set(2, std::bit_cast<u32>(2.0f));
  hand.set(3, std::bit_cast<u32>(3.0f));
  hand.set(4, std::bit_cast<u32>(10.0f));
  hand.set(5, std::bit_cast<u32>(100.0f));
  hand.execute("v_pk_mul_f32 v[10:11], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0]");
  EXPECT_EQ(taken<float>(10, 9), -30.0f);
  EXPECT_EQ(taken<float>(11, 9), 200.0f);
  hand.execute("v_pk_mov_b32 v[10:11], v[2:3], v[4:5] op_sel:[1,0]");
  EXPECT_EQ(taken<float>(10, 9), 3.0f);
  EXPECT_EQ(taken<float>(11, 9), 10.0f);
  expect_fault([&] { hand.execute("v_pk_mul_f32 v[10:11], v[2:3], 1.0"); },
               FaultKind::unknown_instruction, "constant");
}

TEST_F(VectorLanes, DotProducts) {
  hand.set(2, 0x01FF8002);
  hand.set(4, 0x02030405);
  hand.execute("v_dot4_i32_i8 v10, v2, v4, 7");
  EXPECT_EQ(i32(hand.get(10, 0)), 1 * 2 - 1 * 3 - 128 * 4 + 2 * 5 + 7);
  hand.execute("v_dot4_u32_u8 v10, v2, v4, 7");
  EXPECT_EQ(hand.get(10, 0), 2u + 255 * 3 + 128 * 4 + 2 * 5 + 7);
  hand.set(10, 1000);
  hand.execute("v_dot2c_i32_i16 v10, v2, v4");
  EXPECT_EQ(i32(hand.get(10, 0)), 0x1FF * 0x203 + i16(0x8002) * 0x405 + 1000);
  hand.execute("v_sad_u8 v10, v2, v4, 1");
  EXPECT_EQ(hand.get(10, 0), 1u + 1 + 252 + 124 + 3);
}

TEST_F(VectorLanes, MovesBetweenLanes) {
  hand.set(2, [](unsigned lane) { return 100 + lane; });
  hand.wave.set_exec(0x30);
  hand.execute("v_readfirstlane_b32 s5, v2");
  EXPECT_EQ(hand.wave.scalar32(5), 104u);
  hand.execute("v_readlane_b32 s5, v2, 63");
  EXPECT_EQ(hand.wave.scalar32(5), 163u);
  hand.execute("v_writelane_b32 v2, s5, 1");
  EXPECT_EQ(hand.get(2, 1), 163u);
  hand.wave.set_exec(all_lanes);
  hand.execute("v_mbcnt_lo_u32_b32 v10, -1, 0");
  hand.execute("v_mbcnt_hi_u32_b32 v10, -1, v10");
  for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(hand.get(10, lane), lane);
  hand.set(4, 0x11223344);
  hand.set(6, 0xAABBCCDD);
  hand.wave.set_scalar32(8, 0x0D0C0700);
  hand.execute("v_perm_b32 v10, v4, v6, s8");
  EXPECT_EQ(hand.get(10, 0), 0xFF0011DDu);
  hand.wave.set_vcc(0xF);
  hand.execute("v_cndmask_b32 v10, v4, v6, vcc");
  EXPECT_EQ(hand.get(10, 3), 0xAABBCCDDu);
  EXPECT_EQ(hand.get(10, 4), 0x11223344u);
  hand.execute("v_swap_b32 v4, v6");
  EXPECT_EQ(hand.get(4, 0), 0xAABBCCDDu);
  hand.execute("v_accvgpr_write_b32 a3, v4");
  hand.execute("v_accvgpr_read_b32 v11, a3");
  EXPECT_EQ(hand.get(11, 8), 0xAABBCCDDu);
}

TEST_F(VectorLanes, IndexedRegisters) {
  hand.set(9, 99);
  hand.wave.set_scalar32(3, 7);
  hand.execute("s_set_gpr_idx_on s3, gpr_idx(SRC0)");
  hand.execute("v_mov_b32 v10, v2");
  hand.execute("s_set_gpr_idx_mode gpr_idx(DST)");
  hand.execute("v_mov_b32 v14, v10");
  hand.execute("s_set_gpr_idx_off");
  EXPECT_EQ(hand.get(10, 0), 99u);
  EXPECT_EQ(hand.get(21, 0), 99u);
}

/// The assembler must know every name in the emulator's tables, for one of the two chips.
TEST_F(VectorLanes, NamesAreTheAssemblers) {
  const std::string path = ::testing::TempDir() + "/mi300x_names.s";
  std::vector<std::string> names;
  for (const auto& [name, operation] : all_operations())
    if (operation.unit <= Unit::transcendental && operation.unit != Unit::scalar_memory)
      names.emplace_back(name);
  ASSERT_GT(names.size(), 500u);
  std::ofstream file(path);
  for (const std::string& name : names) file << name << "\n";
  file.close();
  std::vector<int> refusals(names.size());
  for (const std::string arch : {"gfx942", "gfx90a"}) {
    const std::string command =
        "llvm-mc-19 -triple=amdgcn-amd-amdhsa -mcpu=" + arch + " " + path + " -o /dev/null 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    char line[1024];
    unsigned errors = 0;
    while (std::fgets(line, sizeof line, pipe) != nullptr) {
      const std::string text = line;
      const bool refused = text.find("error: instruction not supported") != std::string::npos ||
                           text.find("error: invalid instruction") != std::string::npos;
      errors += text.find("error: ") != std::string::npos;
      if (!refused) continue;
      const std::size_t number = std::stoul(text.substr(path.size() + 1));
      ++refusals.at(number - 1);
    }
    pclose(pipe);
    EXPECT_GT(errors, 400u) << "the assembler did not run";
  }
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_LT(refusals[i], 2) << names[i];
}

}  // namespace
}  // namespace mi300x
