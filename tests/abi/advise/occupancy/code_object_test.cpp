// Kernels with chosen registers, LDS and work-group sizes, compiled by clang-19 for gfx942 and
// gfx90a: what assay reads from the object and from the assembly text, and its occupancy compared
// with LLVM's comment "; Occupancy:".
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/occupancy/image.h"
#include "advise/occupancy/occupancy.h"
#include "support/code_samples.h"

namespace assay::occupancy {
namespace {

struct Case {
  const char* name;
  unsigned threads;    ///< exactly
  unsigned vgprs = 0;  ///< architectural
  unsigned agprs = 0;
  unsigned last_sgpr = 0;  ///< the highest used, 0: any
  unsigned lds = 0;
  double exact = 8;
  unsigned llvm = 8;
  const char* why = "";  ///< where the two differ: what LLVM's comment leaves out
};

constexpr const char* no_granule = "LLVM divides by the bytes asked for, not by those allocated";
constexpr const char* no_group = "LLVM takes the least of all limits without placing whole groups";
constexpr const char* rounded = "LLVM rounds the mean over the SIMDs up";
constexpr const char* no_sgpr_granule =
    "LLVM divides 800 SGPRs by those used, not by those allocated";

constexpr Case cases[] = {
    {"few", 256, 16},
    {"v64", 256, 64, 0, 0, 0, 8, 8},
    {"v65", 256, 65, 0, 0, 0, 7, 7},
    {"v72", 256, 72, 0, 0, 0, 7, 7},
    {"v96", 256, 96, 0, 0, 0, 5, 5},
    {"v128", 256, 128, 0, 0, 0, 4, 4},
    {"v129", 256, 129, 0, 0, 0, 3, 3},
    {"v171", 256, 171, 0, 0, 0, 2, 2},
    {"v256", 256, 256, 0, 0, 0, 2, 2},
    {"v100_a32", 256, 100, 32, 0, 0, 3, 3},
    {"v33_a28", 256, 33, 28, 0, 0, 8, 8},  // 36 + 28
    {"v33_a29", 256, 33, 29, 0, 0, 7, 7},
    {"v256_a256", 256, 256, 256, 0, 0, 1, 1},
    {"lds_16k", 256, 16, 0, 0, 16384, 4, 4},
    {"lds_64k", 1024, 16, 0, 0, 65536, 4, 4},
    {"lds_8k_one_wave", 64, 16, 0, 0, 8192, 2, 2},
    {"lds_4k_one_wave", 64, 16, 0, 0, 4096, 4, 4},
    {"lds_16k_three_waves", 192, 16, 0, 0, 16384, 3, 3},
    {"lds_2k_two_waves", 128, 16, 0, 0, 2048, 8, 8},
    {"lds_and_vgprs", 256, 100, 0, 0, 12288, 4, 4},
    {"one_wave", 64, 64},
    {"sgpr_101", 256, 16, 0, 101, 0, 7, 7},
    {"lds_21844", 256, 16, 0, 0, 21844, 2, 3, no_granule},
    {"v128_twelve_waves", 768, 128, 0, 0, 0, 3, 4, no_group},
    {"lds_10k_one_wave", 64, 16, 0, 0, 10240, 1.5, 2, rounded},
    {"sgpr_93", 256, 16, 0, 93, 0, 7, 8, no_sgpr_granule},
};

constexpr const char* spilling = R"(
extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256), amdgpu_num_vgpr(24)))
void spilling(volatile float* x) {
  float value[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) value[i] = x[i];
#pragma unroll
  for (int i = 95; i >= 0; --i) x[i] = value[i] * value[(i + 1) % 96];
}
)";

std::string source() {
  std::string text;
  for (const Case& one : cases) {
    text += fmt::format(
        "extern \"C\" __attribute__((global, amdgpu_flat_work_group_size({0}, {0}))) void {1}() "
        "{{\n",
        one.threads, one.name);
    text += fmt::format("asm volatile(\"\" ::: \"v{}\");\n", one.vgprs - 1);
    if (one.agprs > 0) text += fmt::format("asm volatile(\"\" ::: \"a{}\");\n", one.agprs - 1);
    if (one.last_sgpr > 0) text += fmt::format("asm volatile(\"\" ::: \"s{}\");\n", one.last_sgpr);
    if (one.lds > 0) {
      text += fmt::format("static volatile __attribute__((shared)) char lds[{}]; lds[0] = 1;\n",
                          one.lds);
    }
    text += "}\n";
  }
  return text + spilling;
}

class CodeObject : public testing::TestWithParam<std::string> {
 protected:
  /// The kernels by name; skips without a compiler.
  std::map<std::string, KernelUse> kernels(const std::vector<std::string>& options) {
    const auto code = compile_hip(source(), GetParam(), options);
    if (!code) return {};
    const auto images = read_images(*code);
    EXPECT_TRUE(images) << images.error().message;
    if (!images || images->size() != 1) return {};
    EXPECT_EQ(images->front().arch, GetParam());
    std::map<std::string, KernelUse> by_name;
    for (const KernelUse& use : images->front().kernels) by_name[use.name] = use;
    return by_name;
  }
};

TEST_P(CodeObject, OccupancyIsWhatLlvmCommentsOrBetterKnown) {
  const auto from_text = kernels({"-S"});
  if (from_text.empty()) GTEST_SKIP() << no_clang;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    ASSERT_TRUE(from_text.contains(one.name));
    const KernelUse& use = from_text.at(one.name);
    const unsigned aligned = one.agprs > 0 ? (one.vgprs + 3) / 4 * 4 : one.vgprs;
    EXPECT_EQ(use.vgprs, aligned + one.agprs);
    EXPECT_EQ(use.agprs, one.agprs);
    EXPECT_EQ(use.shared_bytes, one.lds);
    EXPECT_EQ(use.max_threads, one.threads);
    const Occupancy occupancy = occupancy_of(*find_amd(GetParam()), use, {one.threads, 0});
    EXPECT_EQ(occupancy.waves_per_simd(), one.exact);
    EXPECT_EQ(use.compiler_waves, one.llvm);
    // Every difference has a reason, and every reason a difference.
    EXPECT_EQ(one.exact == one.llvm, std::string(one.why).empty()) << one.why;
  }
}

TEST_P(CodeObject, ObjectAndTextSayTheSame) {
  const auto from_text = kernels({"-S"}), from_object = kernels({});
  if (from_text.empty()) GTEST_SKIP() << no_clang;
  ASSERT_EQ(from_object.size(), std::size(cases) + 1);
  for (const auto& [name, use] : from_object) {
    SCOPED_TRACE(name);
    const KernelUse& other = from_text.at(name);
    EXPECT_EQ(use.vgprs, other.vgprs);
    EXPECT_EQ(use.agprs, other.agprs);
    EXPECT_EQ(use.sgprs, other.sgprs);
    EXPECT_EQ(use.shared_bytes, other.shared_bytes);
    EXPECT_EQ(use.scratch_bytes, other.scratch_bytes);
    EXPECT_EQ(use.vgpr_spills, other.vgpr_spills);
    EXPECT_EQ(use.max_threads, other.max_threads);
  }
}

TEST_P(CodeObject, SpillsAreSeen) {
  const auto from_object = kernels({});
  if (from_object.empty()) GTEST_SKIP() << no_clang;
  const KernelUse& use = from_object.at("spilling");
  EXPECT_GT(use.scratch_bytes, 0u);
  EXPECT_GT(use.vgpr_spills.value_or(0), 0u);
  EXPECT_EQ(from_object.at("few").scratch_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Archs, CodeObject, testing::Values("gfx942", "gfx90a"),
                         [](const auto& arch) { return arch.param; });

}  // namespace
}  // namespace assay::occupancy
