// Real files of GPU code cut off and with flipped bits: one clear line, no crash. Run by CI under
// the address and undefined-behaviour sanitizers.
#include <gtest/gtest.h>

#include <algorithm>

#include "advise/occupancy/report.h"
#include "machine/code_object/kernel_interface.h"
#include "support/code_samples.h"

namespace assay::occupancy {
namespace {

constexpr const char* hip_source = R"(
#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256))) void
KERNEL copy(float* a, const float* b, int n) {
  for (int i = __builtin_amdgcn_workitem_id_x(); i < n; i += 256) a[i] = b[i];
}
KERNEL with_lds(float* a) {
  static __attribute__((shared)) float lds[1000];
  lds[__builtin_amdgcn_workitem_id_x()] = a[0];
  __builtin_amdgcn_s_barrier();
  a[__builtin_amdgcn_workitem_id_x()] = lds[3];
}
)";

constexpr const char* cuda_source = R"(
extern "C" __global__ void __launch_bounds__(256) with_shared(float* a) {
  __shared__ float s[1000];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x ^ 7];
}
)";

std::string bundle_of(const std::string& code) {
  const auto number = [](std::uint64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), 8);
  };
  const std::string target = "hipv4-amdgcn-amd-amdhsa--gfx942";
  return "__CLANG_OFFLOAD_BUNDLE__" + number(1) + number(4096) + number(code.size()) +
         number(target.size()) + target + std::string(4096 - 32 - 24 - target.size(), '\0') + code;
}

/// Everything that is done to a file but running tools.
void use(std::string_view file) {
  const auto interfaces = read_kernel_interfaces(file);
  if (!interfaces) EXPECT_FALSE(interfaces.error().message.empty());
  const auto images = read_images(file);
  if (!images) {
    EXPECT_FALSE(images.error().message.empty());
    EXPECT_EQ(images.error().message.find('\n'), std::string::npos) << images.error().message;
    return;
  }
  for (const CodeImage& image : *images) {
    for (const Function& function : read_listing(image.code)) scan(function, {}, image.arch);
    for (const KernelUse& kernel : image.kernels) {
      KernelReport report{kernel, {256, 0}, {}, {}, {}, {}};
      compute(report, image.arch);
    }
  }
}

void damage(const std::string& file) {
  ASSERT_TRUE(read_images(file)) << read_images(file).error().message;
  for (std::size_t cut = 0; cut < file.size(); cut += 64)
    use(std::string_view(file).substr(0, cut));
  constexpr char masks[] = {'\x01', '\x80', '\xff'};
  std::size_t places = 0;
  for (std::size_t at = 0; at < file.size(); at += file.size() / 4000 + 1) {
    std::string flipped = file;
    flipped[at] = static_cast<char>(flipped[at] ^ masks[places++ % std::size(masks)]);
    use(flipped);
  }
  std::uint64_t state = 1;
  for (int i = 0; i < 500; ++i) {
    std::string scattered = file;
    for (int flips = 0; flips < 8; ++flips) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      scattered[(state >> 33) % scattered.size()] = static_cast<char>(state >> 20);
    }
    use(scattered);
  }
}

TEST(OccupancyDamage, CodeObjectAndBundle) {
  const auto object = compile_hip(hip_source, "gfx942");
  if (!object) GTEST_SKIP() << no_clang;
  for (std::size_t cut = 64; cut < object->size(); cut += 64) {
    EXPECT_FALSE(read_images(std::string_view(*object).substr(0, cut))) << cut;
  }
  damage(*object);
  damage(bundle_of(*object));
}

TEST(OccupancyDamage, Assembly) {
  const auto text = compile_hip(hip_source, "gfx90a", {"-S"});
  if (!text) GTEST_SKIP() << no_clang;
  damage(*text);
}

TEST(OccupancyDamage, Cubin) {
  const auto cubin = compile_cuda(cuda_source, "sm_90", "-cubin");
  if (!cubin) GTEST_SKIP() << no_nvcc;
  damage(*cubin);
}

TEST(OccupancyDamage, PtxAndFatBinaryInAnObject) {
  const auto text = compile_cuda(cuda_source, "sm_90", "-ptx");
  if (!text) GTEST_SKIP() << no_nvcc;
  damage(*text);
  for (const char* mode : {"--compress-mode=size", "--compress-mode=speed"}) {
    const auto object = compile_cuda(cuda_source, "sm_90", "-c", {mode});
    ASSERT_TRUE(object);
    const auto images = read_images(*object);
    ASSERT_TRUE(images) << images.error().message;
    ASSERT_EQ(images->size(), 2u);
    for (const CodeImage& image : *images) EXPECT_EQ(image.kernels.at(0).shared_bytes, 4000u);
    const std::string& ptx = images->at(1).code;
    EXPECT_TRUE(std::all_of(ptx.begin(), ptx.end(), [](char c) { return c == '\n' || c >= '\t'; }));
    damage(*object);
  }
}

}  // namespace
}  // namespace assay::occupancy
