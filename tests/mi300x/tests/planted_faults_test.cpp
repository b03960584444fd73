// Faults planted into correct kernels: each must be caught, named and located; the correct kernel
// must pass.
#include <gmock/gmock.h>

#include <regex>

#include "kernel_test.h"

namespace mi300x {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using u32 = std::uint32_t;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// One sum per workgroup, by the classical tree reduction in LDS.
constexpr const char* tree = R"(
#define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
  __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
extern __attribute__((shared)) unsigned partial[];
extern "C" __global__ void tree(unsigned* sums, const unsigned* x, unsigned n) {
  unsigned l = __builtin_amdgcn_workitem_id_x(), width = __builtin_amdgcn_workgroup_size_x();
  unsigned i = l + width * __builtin_amdgcn_workgroup_id_x();
  unsigned value = 0;
  if (i < n) value = x[i];
  partial[l] = value;
  SYNC  // before
  for (unsigned half = width / 2; half > 0; half /= 2) {
    if (l < half) partial[l] += partial[l + half];
    SYNC  // within
  }
  if (l == 0) sums[__builtin_amdgcn_workgroup_id_x()] = partial[0];
})";

class PlantedFaults : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr u32 width = 256, groups = 3, n = 700;

  void SetUp() override { SKIP_WITHOUT_COMPILER(); }
  static std::string arch() { return GetParam(); }

  static void run_tree(const std::string& object, u32 shared_bytes = width * 4, u32 claimed_n = n) {
    std::vector<u32> values(n);
    for (u32 i = 0; i < n; ++i) values[i] = i * i;
    const Buffer<u32> x(values), sums(groups);
    launch(Module::load(object, arch()), "tree", {{groups}, {width}, shared_bytes}, usual,
           sums.data(), x.data(), claimed_n);
    for (u32 group = 0; group < groups; ++group) {
      u32 expected = 0;
      for (u32 i = group * width; i < std::min(n, (group + 1) * width); ++i) expected += i * i;
      ASSERT_EQ(sums[group], expected);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, PlantedFaults, ::testing::Values("gfx942", "gfx90a"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(PlantedFaults, NoneInTheSoundKernel) {
  run_tree(compile(tree, arch()));
}

TEST_P(PlantedFaults, ABarrierRemoved) {
  for (const char* barrier : {"SYNC  // before", "SYNC  // within"}) {
    const std::string object = compile(replaced(tree, barrier, ""), arch());
    const Fault fault = fault_of([&] { run_tree(object); });
    // The fault depends on which of the two waves runs first: if it is the reader, it reads LDS
    // that was not written.
    EXPECT_THAT(fault.kind, AnyOf(FaultKind::race, FaultKind::uninitialised)) << fault.what();
    EXPECT_THAT(fault.what(),
                AllOf(HasSubstr("tree: workgroup ("), HasSubstr("ds_"), HasSubstr("kernel.hip:")));
  }
}

TEST_P(PlantedFaults, LdsTooSmall) {
  const Fault fault = fault_of([&] { run_tree(compile(tree, arch()), width * 4 - 4); });
  EXPECT_EQ(fault.kind, FaultKind::illegal_address) << fault.what();
  EXPECT_THAT(fault.what(), HasSubstr("wave 3: ds_write_b32"));
}

TEST_P(PlantedFaults, OffByOnePastABuffer) {
  const Fault fault = fault_of([&] { run_tree(compile(tree, arch()), width * 4, n + 1); });
  EXPECT_EQ(fault.kind, FaultKind::illegal_address) << fault.what();
  EXPECT_THAT(fault.what(), AllOf(HasSubstr("workgroup (2, 0, 0), wave 2: global_load_dword "),
                                  HasSubstr("kernel.hip:9")));
}

TEST_P(PlantedFaults, AWaitRemovedFromTheAssembly) {
  const std::string sound = to_assembly(tree, arch());
  run_tree(assemble(sound, arch()));
  const std::regex wait("\ts_waitcnt (vmcnt|lgkmcnt)\\(0\\)\n");
  int removed = 0;
  for (std::sregex_iterator at(sound.begin(), sound.end(), wait), end; at != end; ++at, ++removed) {
    std::string text = sound;
    text.erase(static_cast<std::size_t>(at->position()), static_cast<std::size_t>(at->length()));
    const Fault fault = fault_of([&] { run_tree(assemble(text, arch())); });
    EXPECT_EQ(fault.kind, FaultKind::missing_wait) << removed << ": " << fault.what();
  }
  EXPECT_GE(removed, 4);
}

TEST_P(PlantedFaults, ThirtyTwoTakenForTheWavesWidth) {
  const std::string text = R"(
extern "C" __global__ void wave_sum(int* sums, const int* x) {
  int value = x[__builtin_amdgcn_workitem_id_x()];
  int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  for (int step = WIDTH / 2; step > 0; step /= 2)
    value += __builtin_amdgcn_ds_bpermute((lane ^ step) * 4, value);
  if (lane == 0) sums[__builtin_amdgcn_workitem_id_x() / WIDTH] = value;
})";
  std::vector<int> values(256);
  for (int i = 0; i < 256; ++i) values[i] = i;
  const Buffer<int> x(values);
  const auto sums_of = [&](const char* wave) {
    Buffer<int> sums(8, -1);
    launch(Module::load(compile(std::string("#define WIDTH ") + wave + text, arch()), arch()),
           "wave_sum", {{1}, {256}, 0}, usual, sums.data(), x.data());
    return sums.values();
  };
  EXPECT_EQ(sums_of("64"), (std::vector<int>{2016, 6112, 10208, 14304, -1, -1, -1, -1}));
  // With waves of 32 lanes there would be eight sums; here every second one is missing.
  EXPECT_EQ(sums_of("32"), (std::vector<int>{496, -1, 2544, -1, 4592, -1, 6640, -1}));
}

/// gfx942 reads fp8 with an exponent bias of 8; a kernel that encodes with OCP's 7 halves every
/// factor.
TEST(PlantedFault, OcpTakenForFnuz) {
  SKIP_WITHOUT_COMPILER();
  const std::string text = R"(
typedef float f32x4 __attribute__((ext_vector_type(4)));
__device__ unsigned fp8_of(float x) {
  unsigned bits = __builtin_bit_cast(unsigned, x);
  return bits >> 31 << 7 | ((bits >> 20 & 0x7ff) - ((127 - BIAS) << 3));
}
extern "C" __global__ void products(f32x4* sums, const float* x) {
  unsigned lane = __builtin_amdgcn_workitem_id_x();
  unsigned long code = fp8_of(x[lane]);
  for (int bits = 8; bits < 64; bits *= 2) code |= code << bits;
  sums[lane] = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(code, code, f32x4{0, 0, 0, 0}, 0, 0, 0);
})";
  const Buffer<float> x(64, -1.5f);
  const auto sum_of = [&](const char* bias) {
    const Buffer<float> sums(256);
    launch(Module::load(compile(std::string("#define BIAS ") + bias + text), "gfx942"), "products",
           {{1}, {64}, 0}, usual, sums.data(), x.data());
    return sums[0];
  };
  EXPECT_EQ(sum_of("8"), 32 * 1.5f * 1.5f);
  EXPECT_EQ(sum_of("7"), 32 * 0.75f * 0.75f);
}

TEST_P(PlantedFaults, AnUninitialisedReadOfLds) {
  const std::string text = replaced(tree, "partial[l] = value;", "if (l) partial[l] = value;");
  const Fault fault = fault_of([&] { run_tree(compile(text, arch())); });
  EXPECT_EQ(fault.kind, FaultKind::uninitialised) << fault.what();
  EXPECT_THAT(fault.what(), HasSubstr("wave 0: ds_read"));
}

TEST_P(PlantedFaults, AnUninitialisedReadOfMemory) {
  Buffer<u32> x(n), sums(groups);
  const Fault fault = fault_of([&] {
    launch(Module::load(compile(tree, arch()), arch()), "tree", {{groups}, {width}, width * 4},
           usual, sums.data(), x.data(), n);
  });
  EXPECT_EQ(fault.kind, FaultKind::uninitialised) << fault.what();
}

TEST_P(PlantedFaults, ARaceBetweenWaves) {
  const std::string text = replaced(tree, "partial[l] = value;", "partial[l & ~64u] = value;");
  const Fault fault = fault_of([&] { run_tree(compile(text, arch())); });
  EXPECT_EQ(fault.kind, FaultKind::race) << fault.what();
  EXPECT_THAT(fault.what(), HasSubstr("ds_write_b32"));
}

}  // namespace
}  // namespace mi300x
