// Training gives the same bits each time only if no kernel adds numbers in the order in which
// threads arrive: what the compiler made of assay's kernels has no atomic sum of floats, nor a loop
// that makes one by comparing and exchanging.
#include <algorithm>
#include <filesystem>
#include <vector>

#include "emulator/code_object.h"
#include "kernel_test.h"

namespace mi300x {
namespace {

bool sums_floats_in_any_order(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (!has("_atomic_") && !name.starts_with("ds_")) return false;
  if (has("cmpswap") || has("cmpst")) return true;
  return has("add_") && (has("_f16") || has("_bf16") || has("_f32") || has("_f64"));
}

TEST(KernelAtomics, NoneAddsFloats) {
  SKIP_WITHOUT_COMPILER();
  const std::filesystem::path folder = ASSAY_SOURCE_DIR "/src/compute/kernels";
  std::vector<std::filesystem::path> sources;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".cu") sources.push_back(file.path());
  }
  std::sort(sources.begin(), sources.end());
  std::size_t atomics = 0;
  for (const std::filesystem::path& source : sources) {
    const auto module =
        Module::load(compile_file(source.string(), "gfx942", "-I" + folder.string()), "gfx942");
    for (const Instruction& instruction : dynamic_cast<const CodeObject&>(*module).code) {
      const std::string_view name = instruction.operation->name;
      atomics += name.find("_atomic_") != name.npos;
      EXPECT_FALSE(sums_floats_in_any_order(name)) << source.filename() << ": " << instruction.text;
    }
  }
  EXPECT_GT(atomics, 0u) << "of integers there are some";
}

}  // namespace
}  // namespace mi300x
