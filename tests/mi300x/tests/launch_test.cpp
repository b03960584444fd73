// Launches: the initial registers and arguments of a kernel, the scheduling of waves and
// workgroups, refused launches, and the reported location of a fault.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "kernel_test.h"

namespace mi300x {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

class LaunchTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_WITHOUT_COMPILER(); }
  static std::string arch() { return GetParam(); }
  static std::shared_ptr<Module> load(const std::string& hip) {
    return Module::load(compile(hip, arch()), arch());
  }
  static Settings seed(u64 number) {
    Settings settings;
    settings.seed = number;
    return settings;
  }
  static Settings limit(u64 instructions) {
    Settings settings;
    settings.most_instructions = instructions;
    return settings;
  }
};
INSTANTIATE_TEST_SUITE_P(, LaunchTest, ::testing::Values("gfx942", "gfx90a"),
                         [](const auto& test) { return std::string(test.param); });

// ---- Positions ----

TEST_P(LaunchTest, EveryItemOfAThreeDimensionalGridKnowsItsPlace) {
  const auto module = load(R"(
extern "C" __global__ void places(unsigned* out) {
  unsigned x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y(),
           z = __builtin_amdgcn_workitem_id_z();
  unsigned gx = __builtin_amdgcn_workgroup_id_x(), gy = __builtin_amdgcn_workgroup_id_y(),
           gz = __builtin_amdgcn_workgroup_id_z();
  unsigned group = (gz * 3 + gy) * 4 + gx, item = (z * 7 + y) * 5 + x;
  out[group * 105 + item] = gx | gy << 4 | gz << 8 | x << 12 | y << 16 | z << 20;
})");
  Buffer<u32> out(4 * 3 * 2 * 105);
  const LaunchReport report =
      launch(module, "places", {{4, 3, 2}, {5, 7, 3}, 0}, usual, out.data());
  std::size_t at = 0;
  for (u32 gz = 0; gz < 2; ++gz)
    for (u32 gy = 0; gy < 3; ++gy)
      for (u32 gx = 0; gx < 4; ++gx)
        for (u32 z = 0; z < 3; ++z)
          for (u32 y = 0; y < 7; ++y)
            for (u32 x = 0; x < 5; ++x)
              ASSERT_EQ(out[at++], gx | gy << 4 | gz << 8 | x << 12 | y << 16 | z << 20);
  EXPECT_GT(report.wave_instructions, 48u * 5);
  EXPECT_GT(report.seconds, 1e-6);
  EXPECT_LT(report.seconds, 1e-3);
}

TEST_P(LaunchTest, TheLastWaveHasOnlyTheLanesThatAreLeft) {
  const auto module = load(R"(
extern "C" __global__ void lanes(unsigned long long* out) {
  unsigned long long active = __builtin_amdgcn_read_exec();
  if (__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)) == 0)
    out[__builtin_amdgcn_workitem_id_x() / 64] = active;
})");
  Buffer<u64> out(3);
  launch(module, "lanes", {{1}, {64 + 64 + 37}, 0}, usual, out.data());
  EXPECT_EQ(out.values(), (std::vector<u64>{~u64{0}, ~u64{0}, (u64{1} << 37) - 1}));
}

// ---- Arguments ----

TEST_P(LaunchTest, HiddenArgumentsAndTheDispatchPacketDescribeTheGrid) {
  const auto module = load(R"(
extern "C" __global__ void hidden(unsigned* out, char before, double scale) {
  auto words = (const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr();
  auto halves = (const __attribute__((address_space(4))) unsigned short*)words;
  auto packet = (const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_dispatch_ptr();
  if (__builtin_amdgcn_workitem_id_x()) return;
  for (int i = 0; i < 3; ++i) out[i] = words[i];
  for (int i = 0; i < 6; ++i) out[3 + i] = halves[6 + i];
  for (int i = 0; i < 6; ++i) out[9 + i] = words[10 + i];
  out[15] = halves[32];
  out[16] = packet[3]; out[17] = packet[4]; out[18] = packet[5];
  out[19] = before; out[20] = scale * 4;
})");
  Buffer<u32> out(21, 77);
  launch(module, "hidden", {{6, 1}, {32, 2, 2}, 0}, usual, out.data(), char{5}, 0.75);
  EXPECT_EQ(out.values(), (std::vector<u32>{6, 1, 1, 32, 2, 2,      0, 0, 0, 0, 0,
                                            0, 0, 0, 0,  3, 6 * 32, 2, 2, 5, 3}));
}

TEST_P(LaunchTest, AHiddenArgumentThatNobodyProvidesIsUninitialised) {
  const auto module = load(R"(
extern "C" __global__ void heap(unsigned long long* out) {
  auto words = (const __attribute__((address_space(4))) unsigned long long*)
      __builtin_amdgcn_implicitarg_ptr();
  *out = words[12];  // hidden_heap_v1
})");
  Buffer<u64> out(1);
  const Fault fault = fault_of([&] { launch(module, "heap", {{1}, {1}, 0}, usual, out.data()); });
  EXPECT_EQ(fault.kind, FaultKind::uninitialised) << fault.what();
  EXPECT_THAT(fault.what(), HasSubstr("heap: workgroup (0, 0, 0), wave 0: s_load_dwordx2"));
}

// ---- What is refused ----

TEST_P(LaunchTest, ALaunchThatTheCodeObjectOrTheChipDoesNotAllowIsRefused) {
  const auto module = load(R"(
extern __attribute__((shared)) int dynamic[];
extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(1, 256))) small(int* out, int n) {
  __shared__ static int fixed[1024];
  fixed[__builtin_amdgcn_workitem_id_x()] = n;
  dynamic[__builtin_amdgcn_workitem_id_x()] = n;
  __builtin_amdgcn_s_barrier();
  *out = fixed[n] + dynamic[n];
})");
  Buffer<int> out(1);
  const auto refusal = [&](const char* kernel, const Shape& shape, std::vector<char> arguments) {
    const Fault fault = fault_of([&] {
      run({module, kernel, shape.grid, shape.block, shape.dynamic_shared_bytes, arguments}, {}, {});
    });
    EXPECT_EQ(fault.kind, FaultKind::invalid_launch);
    return std::string(fault.what());
  };
  const auto good = pack(out.data(), 3);
  EXPECT_THAT(refusal("smal", {{1}, {1}, 0}, good), HasSubstr("no kernel smal"));
  EXPECT_THAT(refusal("small", {{1}, {257}, 0}, good),
              HasSubstr("257 lanes, the kernel allows 256"));
  EXPECT_THAT(refusal("small", {{1}, {16, 4, 5}, 0}, good), HasSubstr("320 lanes"));
  EXPECT_THAT(refusal("small", {{0}, {1}, 0}, good), HasSubstr("a side of the grid is 0"));
  EXPECT_THAT(refusal("small", {{1u << 30}, {4}, 0}, good), HasSubstr("2^32 - 1"));
  EXPECT_THAT(refusal("small", {{1}, {1}, 65536 - 4096 + 4}, good),
              HasSubstr("65540 bytes of LDS, 4096 of them static; a compute unit has 65536"));
  EXPECT_THAT(refusal("small", {{1}, {1}, 0}, pack(out.data())),
              HasSubstr("8 bytes of arguments, the kernel takes 12"));
}

// ---- Turns ----

TEST_P(LaunchTest, WavesMeetAtBarriersInEveryInterleaving) {
  const auto module = load(R"(
extern __attribute__((shared)) unsigned turned[];
extern "C" __global__ void reverse(unsigned* data) {
  unsigned l = __builtin_amdgcn_workitem_id_x(), n = __builtin_amdgcn_workgroup_size_x();
  unsigned* mine = data + n * __builtin_amdgcn_workgroup_id_x();
  for (int i = 0; i < 3; ++i) {
    turned[l] = mine[l];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    mine[l] = turned[n - 1 - l] + 1;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
})");
  for (u64 number = 1; number <= 5; ++number) {
    constexpr u32 n = 1000, groups = 7;
    std::vector<u32> values(n * groups);
    for (u32 i = 0; i < values.size(); ++i) values[i] = i;
    Buffer<u32> data(values);
    launch(module, "reverse", {{groups}, {n}, n * 4}, seed(number), data.data());
    for (u32 i = 0; i < values.size(); ++i) {
      const u32 group = i / n, l = i % n;
      ASSERT_EQ(data[i], group * n + (n - 1 - l) + 3) << "seed " << number;
    }
  }
}

TEST_P(LaunchTest, AWaveThatEndsReleasesThoseAtTheBarrier) {
  const auto module = load(R"(
extern "C" __global__ void leave(unsigned* out) {
  unsigned l = __builtin_amdgcn_workitem_id_x();
  if (l >= 128) return;
  __builtin_amdgcn_s_barrier();
  out[l] = l;
})");
  Buffer<u32> out(128);
  launch(module, "leave", {{1}, {256}, 0}, usual, out.data());
  for (u32 l = 0; l < 128; ++l) EXPECT_EQ(out[l], l);
}

constexpr const char* relay = R"(
extern "C" __global__ void relay(unsigned* turn, unsigned* sum) {
  if (__builtin_amdgcn_workitem_id_x()) return;
  unsigned mine = __builtin_amdgcn_workgroup_id_x();
  while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) != mine)
    __builtin_amdgcn_s_sleep(1);
  *sum = *sum * 3 + mine;
  __hip_atomic_store(turn, mine - 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
})";

TEST_P(LaunchTest, WorkgroupsThatWaitForLaterOnesGetOn) {
  const auto module = load(relay);
  constexpr u32 groups = 100;
  for (const unsigned threads : {1u, 3u}) {
    Settings settings;
    settings.threads = threads;
    Buffer<u32> turn(1, groups - 1), sum(1, 0u);
    launch(module, "relay", {{groups}, {64}, 0}, settings, turn.data(), sum.data());
    u32 expected = 0;
    for (u32 i = groups; i-- > 0;) expected = expected * 3 + i;
    EXPECT_EQ(sum[0], expected);
  }
}

TEST_P(LaunchTest, AKernelWaitsForTheHost) {
  const auto module = load(relay);
  Buffer<u32> turn(1, 1u), sum(1, 7u);
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic_ref(turn[0]).store(0);
  });
  launch(module, "relay", {{1}, {64}, 0}, usual, turn.data(), sum.data());
  host.join();
  EXPECT_EQ(sum[0], 21u);
}

TEST_P(LaunchTest, AWaitForAWorkgroupBeyondTheChipsRoomIsAHang) {
  const auto module = load(relay);
  Chip chip;
  chip.compute_units = 1;
  chip.dies = 1;
  Buffer<u32> turn(1, 32u), sum(1, 0u);
  const Launch one{module, "relay", {33}, {64}, 0, pack(turn.data(), sum.data())};
  const Fault fault = fault_of([&] { run(one, chip, limit(300'000)); });
  EXPECT_EQ(fault.kind, FaultKind::hang) << fault.what();
  chip.compute_units = 2;
  turn[0] = 32;
  run(one, chip, {});
}

TEST_P(LaunchTest, TheLimitOfInstructionsEndsAHang) {
  const auto module = load(relay);
  Buffer<u32> turn(1, 9u), sum(1, 0u);
  const Fault fault = fault_of([&] {
    launch(module, "relay", {{2}, {64}, 0}, limit(5000), turn.data(), sum.data());
  });
  EXPECT_EQ(fault.kind, FaultKind::hang);
  EXPECT_THAT(fault.what(), AllOf(HasSubstr("relay: workgroup ("), HasSubstr("kernel.hip:"),
                                  HasSubstr("more than the 5000 instructions")));
}

TEST_P(LaunchTest, ACancelledLaunchEnds) {
  const auto module = load(relay);
  Buffer<u32> turn(1, 9u), sum(1, 0u);
  std::atomic<int> polls = 0;
  const Fault fault = fault_of([&] {
    run({module, "relay", {2}, {64}, 0, pack(turn.data(), sum.data())}, {}, {},
        [&] { return ++polls > 3; });
  });
  EXPECT_EQ(fault.kind, FaultKind::hang);
  EXPECT_THAT(fault.what(), HasSubstr("cancelled"));
}

TEST_P(LaunchTest, GarbageFollowsTheSeed) {
  const auto module = Module::load(assemble(R"(
.text
.globl garbage
.p2align 8
garbage:
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[0:1]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel garbage
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--)" + arch() + R"(
amdhsa.kernels:
  - .name: garbage
    .symbol: garbage.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .agpr_count: 0
    .max_flat_workgroup_size: 1024
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
)",
                                            arch()),
                                   arch());
  const auto garbage = [&](u64 number) {
    Buffer<u32> out(64);
    launch(module, "garbage", {{1}, {64}, 0}, seed(number), out.data());
    return out.values();
  };
  EXPECT_EQ(garbage(1), garbage(1));
  EXPECT_NE(garbage(1), garbage(2));
}

}  // namespace
}  // namespace mi300x
