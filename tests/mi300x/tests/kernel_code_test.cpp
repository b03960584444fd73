// The compiler's output for assay's kernels on AMD GPUs. The emulator must know each instruction.
// Training is deterministic only if no kernel adds numbers in the order in which threads arrive:
// there must be no atomic sum of floats, nor a loop that makes one by compare and exchange.
// Exchanges between GPUs must wait for memory no more often than necessary.
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/code_object.h"
#include "emulator/disassembly.h"
#include "kernel_test.h"

namespace mi300x {
namespace {

bool sums_floats_in_any_order(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (!has("_atomic_") && !name.starts_with("ds_")) return false;
  if (has("cmpswap") || has("cmpst")) return true;
  return has("add_") && (has("_f16") || has("_bf16") || has("_f32") || has("_f64"));
}

class KernelCode : public testing::TestWithParam<std::string> {};

TEST_P(KernelCode, IsKnownAndAddsNoFloatsAtomically) {
  SKIP_WITHOUT_COMPILER();
  const std::string& arch = GetParam();
  const std::filesystem::path folder = ASSAY_SOURCE_DIR "/src/compute/kernels";
  std::vector<std::filesystem::path> kernels;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".cu") kernels.push_back(entry.path());
  }
  std::set<std::string> unknown;
  std::size_t instructions = 0, atomics = 0;
  for (const std::filesystem::path& kernel : kernels) {
    for (const DisassembledLine& line :
         *disassemble(compile_file(kernel, arch, "-I" + folder.string()), arch)) {
      ++instructions;
      try {
        const std::string_view name = decode(line.text, arch).operation->name;
        atomics += name.find("_atomic_") != name.npos;
        // The self-test asks whether atomics work, and nothing is trained with it.
        EXPECT_TRUE(kernel.filename() == "hardware_questions.cu" || !sums_floats_in_any_order(name))
            << kernel.filename() << ": " << line.text;
      } catch (const Fault& fault) {
        unknown.insert(line.text.substr(0, line.text.find(' ')));
      }
    }
  }
  EXPECT_GT(instructions, 20000u);
  EXPECT_GT(atomics, 0u) << "of integers there are some";
  EXPECT_TRUE(unknown.empty()) << fmt::format("{}", fmt::join(unknown, " "));
}

INSTANTIATE_TEST_SUITE_P(Architectures, KernelCode, testing::Values("gfx942", "gfx90a"));

/// Consecutive instructions of one name and with system scope, without a wait in between.
struct Row {
  int length = 0;
  bool waits_first = false;  ///< whether there is a wait for earlier memory requests, since the
                             ///< last branch
};
std::vector<Row> rows_without_wait(const Disassembly& lines, std::string_view name) {
  std::vector<Row> rows;
  bool ended = true, waited = false;
  for (const DisassembledLine& line : lines) {
    const std::string_view text = line.text;
    const bool waits = text.starts_with("s_waitcnt");
    ended = ended || waits;
    if (text.starts_with("s_branch") || text.starts_with("s_cbranch")) waited = false;
    waited = waited || (waits && text.find("vmcnt") != text.npos);
    if (!text.starts_with(name) || text.find("sc0 sc1") == text.npos) continue;
    if (ended) rows.push_back({0, waited});
    ++rows.back().length;
    ended = false;
  }
  return rows;
}

// A pack is 8 elements, and every 4 bytes of it are a word of 8 bytes with its number.
TEST(PeerExchangeCode, WordsOfAPackCrossLinksTogether) {
  SKIP_WITHOUT_COMPILER();
  const std::string folder = ASSAY_SOURCE_DIR "/src/compute/kernels";
  const auto lines =
      disassemble(compile_file(folder + "/peer_exchange.cu", "gfx942", "-I" + folder), "gfx942");
  for (const char* name : {"global_store_dwordx2", "global_load_dwordx2"}) {
    std::vector<int> lengths;
    for (const Row& row : rows_without_wait(*lines, name)) {
      lengths.push_back(row.length);
      EXPECT_FALSE(row.waits_first) << name << ": a rank's words wait for those of another";
    }
    EXPECT_THAT(lengths, testing::UnorderedElementsAre(8, 4, 4)) << name;
  }
  for (const DisassembledLine& line : *lines) {
    EXPECT_FALSE(line.text.starts_with("flat_")) << "waits for LDS would wait for " << line.text;
  }
  const auto pauses = std::count_if(lines->begin(), lines->end(), [](const auto& line) {
    return line.text.starts_with("s_sleep");
  });
  EXPECT_EQ(pauses, 4) << "one in every loop that waits: of the meeting and of three kinds of sums";
}

}  // namespace
}  // namespace mi300x
