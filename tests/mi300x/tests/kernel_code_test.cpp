// The compiler's output for assay's kernels on AMD GPUs. The emulator must know each instruction.
// Training is deterministic only if no kernel adds numbers in the order in which threads arrive:
// there must be no atomic sum of floats, nor a loop that makes one by compare and exchange.
#include <fmt/ranges.h>

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
  for (const char* of : {"/src/compute/kernels", "/tests/dialect"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(ASSAY_SOURCE_DIR + std::string(of))) {
      if (entry.path().extension() == ".cu") kernels.push_back(entry.path());
    }
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
        EXPECT_FALSE(sums_floats_in_any_order(name)) << kernel.filename() << ": " << line.text;
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

}  // namespace
}  // namespace mi300x
