// Parsing of llvm-objdump's output.
#include "emulator/disassembly.h"

#include <gtest/gtest.h>

namespace mi300x {
namespace {

TEST(Disassembly, ABranchToALabelHasTheNumberInItsCode) {
  const Disassembly lines = read_disassembly(
      "0000000000003300 <kernel>:\n"
      "\ts_branch label_006E        // 000000003480: BF82000D\n"
      "\ts_cbranch_scc0 done        // 000000003484: BF84FFF3 <kernel+0x10>\n"
      "\ts_cbranch_scc1 28          // 000000003488: BF85001C <kernel+0x20>\n"
      "\ts_mov_b32 s1, s2           // 00000000348C: BE810002\n");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].text, "s_branch 13");
  EXPECT_EQ(lines[1].text, "s_cbranch_scc0 65523");
  EXPECT_EQ(lines[2].text, "s_cbranch_scc1 28");
  EXPECT_EQ(lines[3].text, "s_mov_b32 s1, s2");
  EXPECT_EQ(lines[1].address, 0x3484u);
  EXPECT_EQ(lines[1].bytes, 4u);
}

}  // namespace
}  // namespace mi300x
