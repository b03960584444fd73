// assay occupancy as users call it: the calculator, JSON, files, and one line for every bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "support/code_samples.h"

namespace assay::occupancy {
namespace {

using testing::HasSubstr;

std::string output_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "occupancy");
  const auto output = run_tool(ASSAY_BINARY, arguments, "");
  EXPECT_TRUE(output) << output.error().message;
  return output ? output->text : "";
}

/// The one line on standard error of a call that must fail.
std::string complaint_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "occupancy");
  const auto output = run_tool(ASSAY_BINARY, arguments, "");
  EXPECT_FALSE(output) << output->text;
  return output ? "" : output.error().message;
}

TEST(OccupancyCommand, CalculatesForAmd) {
  const std::string text = output_of(
      {"--vgprs", "100", "--agprs", "32", "--lds", "20000", "--waves", "4", "--arch", "gfx942"});
  EXPECT_THAT(text, HasSubstr("132"));
  EXPECT_THAT(text, HasSubstr("VGPRs and LDS"));
  EXPECT_THAT(text, HasSubstr("save 4 VGPRs and 3616 bytes of LDS for 4 waves/SIMD"));
}

TEST(OccupancyCommand, CalculatesForNvidiaInJson) {
  const auto json = Json::parse(output_of(
      {"--vgprs", "128", "--lds", "100KiB", "--waves", "4", "--arch", "sm_90", "--json"}));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["arch"], "sm_90");
  const auto& kernel = json[0]["kernels"][0];
  EXPECT_EQ(kernel["registers"], 128);
  EXPECT_EQ(kernel["occupancy"]["groups"], 2);
  EXPECT_EQ(kernel["occupancy"]["limited_by"], "shared memory");
  EXPECT_EQ(kernel["occupancy"]["groups_by_resource"]["registers"], 4);
  EXPECT_FALSE(kernel.contains("guide"));
}

TEST(OccupancyCommand, BadInputIsOneLineWithTheOption) {
  EXPECT_THAT(complaint_of({}), HasSubstr("FILE, --kernel NAME, or --vgprs N"));
  EXPECT_THAT(complaint_of({"--vgprs", "513", "--arch", "gfx942"}),
              HasSubstr("--vgprs 513 is not between 0 and 512"));
  EXPECT_THAT(complaint_of({"--vgprs", "300", "--agprs", "4", "--arch", "gfx942"}),
              HasSubstr("--vgprs 300 is not between 0 and 256"));
  EXPECT_THAT(complaint_of({"--vgprs", "x", "--arch", "gfx942"}), HasSubstr("--vgprs"));
  EXPECT_THAT(complaint_of({"--vgprs", "10"}), HasSubstr("--arch is missing; allowed: gfx90a"));
  EXPECT_THAT(complaint_of({"--vgprs", "10", "--waves", "17", "--arch", "gfx950"}),
              HasSubstr("--waves 17 is not between 1 and 16"));
  EXPECT_THAT(complaint_of({"--vgprs", "10", "--sgprs", "8", "--arch", "sm_90"}),
              HasSubstr("--sgprs is for AMD"));
  EXPECT_THAT(complaint_of({"--lds", "3GiB", "--arch", "gfx942"}), HasSubstr("--lds 3221225472"));
  EXPECT_THAT(complaint_of({"--kernel", "triad_f65", "--device", "cpu"}),
              HasSubstr("did you mean \"triad_f64\""));
  EXPECT_THAT(complaint_of({"--kernel", "triad_f64", "--device", "cpu"}),
              HasSubstr("occupancy has no meaning on a CPU"));
  EXPECT_THAT(complaint_of({"--kernel", "triad_f64", "--block", "1025", "--device", "cpu"}),
              HasSubstr("--block 1025 is not between 1 and 1024"));
  EXPECT_THAT(complaint_of({"/nonexistent/file"}), HasSubstr("cannot read /nonexistent/file"));
  EXPECT_THAT(complaint_of({"/nonexistent/file", "--waves", "2"}),
              HasSubstr("--waves cannot be combined with a file"));
  EXPECT_THAT(complaint_of({ASSAY_BINARY}), HasSubstr("a host program without GPU code"));
}

constexpr const char* assembly = R"(	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
kernel:
.LBB0_1:
	global_load_dword v1, v0, s[2:3]
	s_waitcnt vmcnt(0)
	s_cbranch_scc1 .LBB0_1
	s_endpgm
; Occupancy: 4
	.amdgpu_metadata
amdhsa.kernels:
  - .agpr_count: 0
    .group_segment_fixed_size: 16384
    .max_flat_workgroup_size: 256
    .name: kernel
    .private_segment_fixed_size: 0
    .sgpr_count: 10
    .vgpr_count: 90
amdhsa.target: amdgcn-amd-amdhsa--gfx942
	.end_amdgpu_metadata
)";

TEST(OccupancyCommand, AssemblyWithScanAdviceAndFilter) {
  const TemporaryFolder folder;
  const std::string file = folder.write("kernel.s", assembly);
  const auto json = Json::parse(output_of({file, "--json"}));
  const auto& kernel = json[0]["kernels"][0];
  EXPECT_EQ(kernel["vgprs"], 90);
  EXPECT_EQ(kernel["compiler_waves_per_simd"], 4);
  EXPECT_EQ(kernel["occupancy"]["waves_per_simd"], 4);
  EXPECT_EQ(kernel["occupancy"]["next"]["save"]["LDS"], 3584);
  EXPECT_EQ(kernel["guide"]["waves_per_simd"], 4);
  EXPECT_EQ(kernel["scan"]["loops"], 1);
  EXPECT_EQ(kernel["scan"]["findings"].size(), 2u);
  EXPECT_THAT(output_of({file, "--dynamic-lds", "32KiB"}), HasSubstr("49152"));
  EXPECT_THAT(output_of({file}), HasSubstr("global_load_dwordx4"));
  EXPECT_THAT(output_of({file, "--no-scan"}), testing::Not(HasSubstr("global_load_dwordx4")));
  EXPECT_THAT(complaint_of({file, "--kernel", "kernal"}),
              HasSubstr("has no kernel \"kernal\" (did you mean \"kernel\"?); it has kernel"));
}

TEST(OccupancyCommand, OneByteIsNotPlural) {
  EXPECT_THAT(output_of({"--vgprs", "64", "--lds", "32769", "--waves", "4", "--arch", "gfx942"}),
              HasSubstr("save 1 byte of LDS"));
}

TEST(OccupancyCommand, WhatIsTrueOfEveryKernelIsSaidOnce) {
  std::string text = assembly;
  const std::string with_lds = "16384";
  text.replace(text.find(with_lds), with_lds.size(), "0");
  const std::size_t begin = text.find("  - .agpr_count"), end = text.find("amdhsa.target:");
  std::string second = text.substr(begin, end - begin);
  second.replace(second.find("kernel\n"), 6, "second");
  text.insert(end, second);
  const TemporaryFolder folder;
  const std::string output = output_of({folder.write("two.s", text).string()});
  const std::size_t first = output.find("it divides by L");
  ASSERT_NE(first, std::string::npos) << output;
  EXPECT_EQ(output.find("it divides by L", first + 1), std::string::npos) << output;
  EXPECT_THAT(output, HasSubstr("second"));
}

TEST(OccupancyCommand, WithoutToolsItSaysWhatIsMissing) {
  const auto object = compile_hip("extern \"C\" __attribute__((global)) void k() {}", "gfx942");
  if (!object) GTEST_SKIP() << no_clang;
  const TemporaryFolder folder;
  const std::string file = folder.write("k.co", *object);
  const auto output = run_tool(
      "/usr/bin/env", {"ASSAY_LLVM_OBJDUMP=/nonexistent", ASSAY_BINARY, "occupancy", file}, "");
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_THAT(output->text, HasSubstr("no instruction scan: "));
  EXPECT_THAT(output->text, HasSubstr("llvm-objdump"));
}

TEST(OccupancyCommand, ACodeObjectIsScannedByTheDisassemblerOfThisMachine) {
  if (!find_tools(objdump_places())) GTEST_SKIP() << "no llvm-objdump here: install llvm";
  const auto object = compile_hip(
      "extern \"C\" __attribute__((global)) void k(volatile float* a, int n) {\n"
      "  while (n-- > 0) a[0] = a[1];\n"
      "}\n",
      "gfx90a");
  if (!object) GTEST_SKIP() << no_clang;
  const TemporaryFolder folder;
  const auto json = Json::parse(output_of({folder.write("k.co", *object).string(), "--json"}));
  const auto& scan = json[0]["kernels"][0]["scan"];
  EXPECT_EQ(scan["loops"], 1) << json[0]["remarks"];
  for (const auto& finding : scan["findings"]) {
    if (finding["what"] != "global_load_dword") continue;
    EXPECT_EQ(finding["in_loops"], finding["count"]);
  }
}

}  // namespace
}  // namespace assay::occupancy
