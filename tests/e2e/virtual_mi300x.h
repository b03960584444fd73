// The unchanged binary on the virtual machine of tests/mi300x, which scripts/virtual-mi300x runs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "e2e/process.h"

namespace assay {

/// Tests on it, with a folder of their own. Skips where it cannot be built or run.
class OnVirtualMi300x : public testing::Test {
 protected:
  static constexpr const char* script = ASSAY_SOURCE_DIR "/scripts/virtual-mi300x";

  void SetUp() override {
    const auto runtime = build() / "tests/mi300x/runtime/hip_6/libamdhip64.so.6";
    if (!std::filesystem::exists(runtime)) {
      GTEST_SKIP() << "HIP's headers are not installed: no " << runtime;
    }
    if (std::system("bwrap --bind / / true 2>/dev/null") != 0) {
      GTEST_SKIP() << "bubblewrap does not work here";
    }
  }

  /// `environment` with what chooses the virtual machine.
  static Process::Environment environment(Process::Environment environment = {}) {
    environment.try_emplace("ASSAY_BUILD", build());
    environment.try_emplace("MI300X_CACHE", cache());
    environment.try_emplace("MI300X_MODE", "CPX/NPS4");  // an eighth of the work of a whole GPU
    return environment;
  }
  Outcome on(const std::vector<std::string>& words, Process::Environment more = {}) const {
    return Process(words, environment(std::move(more)), "", script).wait();
  }
  static std::filesystem::path build() { return std::filesystem::path(ASSAY_BINARY).parent_path(); }
  /// Shared by all tests, because compiling takes longer than running.
  static std::filesystem::path cache() { return build() / "tests/mi300x/kernel_cache"; }

  const TemporaryFolder folder_;
};

}  // namespace assay
