// Occupancy compared with the driver's own query on a real accelerator, for every kernel of assay
// and more than 20 others with chosen registers and shared memory. Skips without an accelerator.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "advise/occupancy/image.h"
#include "cli/advise/own_kernels.h"
#include "compute/backends/cuda/cuda_dialect.h"
#include "compute/backends/hip/hip_dialect.h"
#include "support/test_device.h"

namespace assay::occupancy {
namespace {

class GpuOccupancy : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("");
    if (device_->facts().backend == "cpu") GTEST_SKIP() << "no accelerator on this machine";
  }

  const std::string& arch() const { return device_->facts().arch; }

  std::unique_ptr<Device> device_;
};

TEST_F(GpuOccupancy, AllOwnKernelsAgreeWithTheDriver) {
  std::unique_ptr<Program> program;
  std::string built;
  int compared = 0;
  for (const OwnKernel& own : own_kernels()) {
    if (own.program != built) {
      auto made = device_->build({own.program, {}});
      ASSERT_TRUE(made) << made.error().message;
      program = std::move(*made);
      built = own.program;
    }
    const auto kernel = program->kernel(own.name);
    ASSERT_TRUE(kernel) << kernel.error().message;
    for (const unsigned threads : {32u, 64u, 96u, 256u, 512u, 1000u, 1024u}) {
      for (const std::uint64_t dynamic : {0u, 1000u, 16384u, 48000u}) {
        const auto report = measure_kernel(*device_, **kernel, own.name, {threads, dynamic});
        ASSERT_TRUE(report) << report.error().message;
        ++compared;
        EXPECT_TRUE(driver_agrees(*report, arch()))
            << own.name << ", " << threads << " threads, " << dynamic << " bytes: driver "
            << *report->driver_groups << ", computed " << report->occupancy->groups;
      }
    }
  }
  fmt::print("compared {} cases of {} kernels\n", compared, own_kernels().size());
  EXPECT_GT(own_kernels().size(), 30u);
}

/// A kernel that holds about `values` numbers in registers and `shared` bytes in shared memory.
std::string source_of(unsigned values, unsigned shared, unsigned threads) {
  std::string loads, turns, stores;
  for (unsigned i = 0; i < values; ++i) {
    loads += fmt::format("  float v{0} = x[{0} * n];\n", i);
    turns += fmt::format("    v{} = v{} * v{} + 1.0f;\n", i, i, (i * 7 + 3) % values);
    stores += fmt::format("  x[{0} + n] = v{0};\n", i);
  }
  const std::string fill =
      shared == 0
          ? ""
          : fmt::format("  __shared__ volatile char s[{}];\n  s[n % {}] = n;\n  x[n] = s[0];\n",
                        shared, shared);
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}) chosen(float* x, int n) {{\n{}{}"
      "  for (int i = 0; i < n; ++i) {{\n{}  }}\n{}}}\n",
      threads, fill, loads, turns, stores);
}

/// A module of our own for the driver's occupancy query, because a Device compiles only built-in
/// sources.
class ChosenKernels : public GpuOccupancy {
 protected:
  void SetUp() override {
    GpuOccupancy::SetUp();
    if (IsSkipped()) return;
    auto dialect =
        device_->facts().backend == "hip" ? hip::HipDialect::load() : cuda::CudaDialect::load();
    ASSERT_TRUE(dialect) << dialect.error().message;
    dialect_ = std::move(*dialect);
    ASSERT_EQ(dialect_->make_current(device_->facts().ordinal), driver::code::success);
  }

  int attribute(driver::FunctionObject* function, int number) {
    int value = -1;
    EXPECT_EQ(dialect_->api().function_attribute(&value, number, function), driver::code::success);
    return value;
  }

  void compare(unsigned values, unsigned shared, unsigned most_threads_of_kernel) {
    SCOPED_TRACE(
        fmt::format("{} values, {} bytes, {} threads", values, shared, most_threads_of_kernel));
    const auto code =
        dialect_->compile("chosen.cu", source_of(values, shared, most_threads_of_kernel),
                          dialect_->compile_options(arch(), dialect_->rtc().value()));
    ASSERT_TRUE(code) << code.error().message;
    const auto images = read_images(*code);
    ASSERT_TRUE(images) << images.error().message;
    const KernelUse& use = images->at(0).kernels.at(0);
    driver::ModuleObject* module = nullptr;
    driver::FunctionObject* function = nullptr;
    ASSERT_EQ(dialect_->api().module_load(&module, code->data()), driver::code::success);
    ASSERT_EQ(dialect_->api().module_function(&function, module, "chosen"), driver::code::success);

    namespace attributes = driver::function_attribute;
    EXPECT_EQ(static_cast<int>(use.vgprs), attribute(function, attributes::registers));
    EXPECT_EQ(static_cast<int>(use.shared_bytes), attribute(function, attributes::shared_bytes));
    EXPECT_EQ(static_cast<int>(use.max_threads),
              attribute(function, attributes::max_threads_per_block));
    registers_.insert(use.vgprs);
    for (const unsigned threads : {32u, 64u, 160u, 256u, 1024u}) {
      if (threads > most_threads_of_kernel) continue;
      for (const std::uint64_t dynamic : {0u, 5000u, 30000u}) {
        if (shared + dynamic > 48 * 1024) continue;  // larger sizes need an attribute of the kernel
        KernelReport report{use, {threads, dynamic}, {}, {}, {}, {}};
        compute(report, arch());
        int blocks = -1;
        ASSERT_EQ(dialect_->api().occupancy(&blocks, function, static_cast<int>(threads), dynamic),
                  driver::code::success);
        report.driver_groups = blocks;
        ++compared_;
        EXPECT_TRUE(driver_agrees(report, arch()))
            << threads << " threads, " << dynamic << " dynamic: " << use.vgprs
            << " registers; driver " << blocks << ", computed " << report.occupancy->groups;
      }
    }
    dialect_->api().module_unload(module);
  }

  std::unique_ptr<driver::Dialect> dialect_;
  std::set<unsigned> registers_;  // all numbers of registers seen
  int compared_ = 0;
};

TEST_F(ChosenKernels, RegistersAndSharedMemoryAgreeWithTheDriver) {
  for (const unsigned values : {4u, 16u, 24u, 32u, 48u, 64u, 96u, 128u, 160u, 200u}) {
    compare(values, 0, 128);
    compare(values, values * 200 + 3, 256);
  }
  for (const unsigned shared : {1u, 1024u, 4097u, 33000u, 49152u}) compare(8, shared, 1024);
  for (const unsigned threads : {128u, 256u, 512u, 1024u}) compare(100, 2000, threads);
  fmt::print("29 kernels, {} register counts from {} to {}, {} cases\n", registers_.size(),
             *registers_.begin(), *registers_.rbegin(), compared_);
  EXPECT_GE(registers_.size(), 10u);
}

}  // namespace
}  // namespace assay::occupancy
