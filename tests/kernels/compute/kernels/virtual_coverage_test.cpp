// Runs after the tests of kernels on the virtual MI300X, and checks that every kernel was executed:
// those tests write what they executed into the file that MI300X_COVERAGE names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "compute/device/kernel_registry.h"

namespace assay {
namespace {

/// Names after `kind` in lines "KIND NAME COUNT" of the file.
std::set<std::string> names_of(const std::string& kind, const char* file) {
  std::set<std::string> names;
  std::ifstream lines(file);
  std::string word, name, count;
  while (lines >> word >> name >> count) {
    if (word == kind) names.insert(name);
  }
  return names;
}

/// Kernels that are not compiled for CDNA, because their tiles need more than its 64 KiB of LDS.
const std::set<std::string> too_large_for_lds = {
    "flash_backward_wgmma_128_bf16", "flash_backward_wgmma_queries_128_bf16",
    "flash_backward_wgmma_128_f16", "flash_backward_wgmma_queries_128_f16"};

/// Kernels of caches in OCP codes are not compiled for gfx942, whose codes are FNUZ.
bool is_of_other_codes(std::string_view kernel) {
  return kernel.ends_with("_e4m3") &&
         (kernel.starts_with("paged_") || kernel.starts_with("rotate_and_store_"));
}

TEST(VirtualCoverage, EveryKernelWasExecuted) {
  const char* file = std::getenv("MI300X_COVERAGE");
  if (file == nullptr) GTEST_SKIP() << "MI300X_COVERAGE names no file of what was executed";
  const std::set<std::string> tests = names_of("test", file), kernels = names_of("kernel", file);
  const auto& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = suite.GetTestInfo(t)->name();
      if (name.ends_with("/gfx942") && !tests.contains(suite.name() + ("." + name))) {
        GTEST_SKIP() << "not all tests of kernels ran, for instance not " << name;
      }
    }
  }
  for (const cpu::KernelEntry* entry = cpu::kernel_entries; entry != nullptr; entry = entry->next) {
    if (too_large_for_lds.contains(entry->name) || is_of_other_codes(entry->name)) continue;
    EXPECT_TRUE(kernels.contains(entry->name))
        << entry->file << ": no test executes " << entry->name << " on the virtual MI300X";
  }
}

}  // namespace
}  // namespace assay
