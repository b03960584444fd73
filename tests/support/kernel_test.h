// Runs kernels in each of their builds: for instruction sets of this CPU, and as gfx942 machine
// code on the virtual MI300X (tests/mi300x). Kernels access only device memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "compute/device/helpers.h"
#include "support/sanitized.h"
#include "support/test_device.h"

namespace assay {

inline std::vector<std::string> kernel_builds() {
#if defined(__x86_64__)
  return {"x86_64_v2", "x86_64_v3", "x86_64_v4", "gfx942"};
#else
  return {"generic", "gfx942"};
#endif
}

class KernelTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string arch = GetParam();
    const bool emulated = arch.starts_with("gfx");
    if (emulated) {
      const char* library = std::getenv("ASSAY_HIP_LIBRARY");
      if (library == nullptr) GTEST_SKIP() << "ASSAY_HIP_LIBRARY does not name the virtual MI300X";
      // A device with few compute units has few idle workgroups.
      setenv("MI300X_DEVICES", "1", 0);
      setenv("MI300X_UNITS", "4", 0);
      // The cache of the program's tests is shared, because compiling takes longer than most of
      // them.
      setenv("XDG_CACHE_HOME", (std::string(library) + "/../../kernel_cache").c_str(), 1);
      note_test();
    }
    setenv("ASSAY_CPU_VARIANT", arch.c_str(), 1);
    device_ = open_test_device(emulated ? "hip" : "cpu");
    unsetenv("ASSAY_CPU_VARIANT");
    ASSERT_NE(device_, nullptr);
    std::replace(arch.begin(), arch.end(), '_', '-');
    if (!device_->facts().arch.starts_with(arch)) {
      GTEST_SKIP() << "this machine has no " << arch;
    }
    stream_ = std::move(device_->create_stream()).value();
  }

  /// Adds a line with this test's name to the file that lists what the virtual device executed.
  static void note_test() {
    const char* file = std::getenv("MI300X_COVERAGE");
    if (file == nullptr) return;
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    std::ofstream(file, std::ios::app)
        << "test " + std::string(test.test_suite_name()) + "." + test.name() + " 1\n";
  }

  /// Whether a computation takes ten times as long here as in builds for users. Then tests of many
  /// choices try any two of them together, where they otherwise try any three.
  bool is_slow() const { return is_sanitized || device_->facts().emulated; }

  Buffer allocate(std::size_t bytes) {
    auto buffer = device_->allocate(bytes, MemoryKind::device);
    EXPECT_TRUE(buffer) << buffer.error().message;
    return buffer ? std::move(*buffer) : Buffer();
  }

  template <typename T>
  Buffer upload(const std::vector<T>& values) {
    Buffer buffer = allocate(values.size() * sizeof(T));
    write(buffer.data(), values);
    return buffer;
  }
  template <typename T>
  void write(void* to, const std::vector<T>& values) {
    const Status copied = stream_->copy(to, values.data(), values.size() * sizeof(T));
    EXPECT_TRUE(copied) << copied.error().message;
    EXPECT_TRUE(stream_->synchronize());
  }
  template <typename T>
  std::vector<T> download(const void* from, std::size_t count) {
    auto values = read_back<T>(*stream_, from, count);
    EXPECT_TRUE(values) << values.error().message;
    return values ? std::move(*values) : std::vector<T>(count);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

#define ASSAY_KERNEL_BUILDS(fixture)                                                     \
  INSTANTIATE_TEST_SUITE_P(Builds, fixture, testing::ValuesIn(::assay::kernel_builds()), \
                           [](const auto& build) { return build.param; })

}  // namespace assay
