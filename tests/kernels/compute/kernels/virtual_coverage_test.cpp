// Runs after the tests of kernels on the virtual MI300X, and checks that every kernel was executed:
// those tests write what they executed into the file that MI300X_COVERAGE names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "compute/device/kernel_registry.h"
#include "compute/device/kernel_source.h"
#include "support/kernel_test.h"

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

/// The kernels of `file` that are compiled for `device` with a cache of these codes (PAGED_CACHE).
std::set<std::string> compiled_with(Device& device, std::string_view file, const char* cache) {
  std::set<std::string> names;
  const auto program =
      device.build({std::string(file), {{"PAGED_GROUP", "1"}, {"PAGED_CACHE", cache}}});
  EXPECT_TRUE(program) << program.error().message;
  for (const cpu::KernelEntry* entry = cpu::kernel_entries; program && entry != nullptr;
       entry = entry->next) {
    if (entry->file == std::string(file) + ".cu" && (*program)->kernel(entry->name).ok()) {
      names.insert(entry->name);
    }
  }
  return names;
}

/// Kernels that are compiled for caches in OCP codes alone (IF_E4M3_CACHE). No device of gfx942
/// has such a cache, because its codes are FNUZ.
std::set<std::string> kernels_of_ocp_caches(Device& device) {
  std::set<std::string> names;
  for (const EmbeddedFile& file : all_kernel_files()) {
    constexpr std::string_view end = ".cu";
    if (!file.name.ends_with(end) || file.text.find("IF_E4M3_CACHE(") == file.text.npos) continue;
    const std::string_view name = file.name.substr(0, file.name.size() - end.size());
    names.merge(compiled_with(device, name, "1"));
    for (const std::string& other : compiled_with(device, name, "2")) names.erase(other);
  }
  return names;
}

TEST(VirtualCoverage, EveryKernelWasExecuted) {
  const char* file = std::getenv("MI300X_COVERAGE");
  if (file == nullptr) GTEST_SKIP() << "MI300X_COVERAGE names no file of what was executed";
  const char* library = std::getenv("ASSAY_HIP_LIBRARY");
  if (library == nullptr) GTEST_SKIP() << "ASSAY_HIP_LIBRARY does not name the virtual MI300X";
  const std::set<std::string> tests = names_of("test", file), executed = names_of("kernel", file),
                              compiled = names_of("compiled", file);
  unsetenv("MI300X_COVERAGE");  // what this test loads below is not what the others had
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
  std::set<std::string> missing;
  for (const cpu::KernelEntry* entry = cpu::kernel_entries; entry != nullptr; entry = entry->next) {
    if (!compiled.contains(entry->name)) {
      missing.insert(entry->name);
      continue;
    }
    EXPECT_TRUE(executed.contains(entry->name))
        << entry->file << ": no test executes " << entry->name << " on the virtual MI300X";
  }
  use_virtual_device(library);
  const auto device = open_test_device("hip");
  ASSERT_NE(device, nullptr);
  std::set<std::string> expected = kernels_of_ocp_caches(*device);
  EXPECT_FALSE(expected.empty());
  expected.insert(too_large_for_lds.begin(), too_large_for_lds.end());
  EXPECT_EQ(missing, expected) << "kernels that no module of the tests has, and those that may be "
                                  "missing on the virtual MI300X";
}

}  // namespace
}  // namespace assay
