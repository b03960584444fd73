// The coverage of a process is counted, and appended to a file when the process ends.
#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "kernel_test.h"

namespace mi300x {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using u32 = std::uint32_t;

class CoverageTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_WITHOUT_COMPILER(); }
  static std::string arch() { return GetParam(); }
  static std::shared_ptr<Module> load(const std::string& hip) {
    return Module::load(compile(hip, arch()), arch());
  }
};
INSTANTIATE_TEST_SUITE_P(, CoverageTest, ::testing::Values("gfx942", "gfx90a"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(CoverageTest, CoverageCountsKernelsAndInstructions) {
  const auto module = load(R"(
extern "C" __global__ void covered(float* x) { x[__builtin_amdgcn_workitem_id_x()] *= 5.0f; })");
  Buffer<float> x(128, 2.0f);
  const Coverage before = coverage();
  launch(module, "covered", {{1}, {128}, 0}, usual, x.data());
  Coverage after = coverage();
  EXPECT_THAT(x.values(), Each(10.0f));
  const auto increase = [&](const char* name) {
    const auto old = before.instructions.find(name);
    return after.instructions[name] - (old == before.instructions.end() ? 0 : old->second);
  };
  EXPECT_EQ(after.kernels.at("covered"), before.kernels.count("covered") ? 2u : 1u);
  EXPECT_EQ(increase("v_mul_f32"), 2u);
  EXPECT_EQ(increase("s_endpgm"), 2u);
}

TEST_P(CoverageTest, CoverageIsAppendedToAFileAtExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string file = ::testing::TempDir() + "mi300x-coverage-" + arch();
  const auto one_process = [&] {
    setenv("MI300X_COVERAGE", file.c_str(), 1);
    Buffer<u32> out(64);
    launch(
        load(
            R"(extern "C" __global__ void seen(int* x) { x[__builtin_amdgcn_workitem_id_x()] = 1; }
               extern "C" __global__ void unseen(int* x) { *x = 1; })"),
        "seen", {{1}, {64}, 0}, usual, out.data());
    std::exit(0);
  };
  std::ofstream(file) << "kernel before 1\n";
  EXPECT_EXIT(one_process(), ::testing::ExitedWithCode(0), "");
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_THAT(
      text.str(),
      ::testing::StartsWith(
          "kernel before 1\ncompiled seen 1\ncompiled unseen 1\nkernel seen 1\ninstruction "));
  EXPECT_THAT(text.str(), HasSubstr("\ninstruction s_endpgm 1\n"));
  std::remove(file.c_str());
}

}  // namespace
}  // namespace mi300x
