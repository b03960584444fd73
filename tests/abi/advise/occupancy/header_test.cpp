// NVIDIA's own calculator, cuda_occupancy.h of the toolkit, compared with ours for many kernels.
#include <gtest/gtest.h>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#endif

#include "advise/occupancy/occupancy.h"

namespace assay::occupancy {
namespace {

#if __has_include(<cuda_occupancy.h>)
cudaOccDeviceProp properties_of(const NvidiaLimits& limits, int major, int minor) {
  cudaOccDeviceProp properties;
  properties.computeMajor = major;
  properties.computeMinor = minor;
  properties.maxThreadsPerBlock = static_cast<int>(most_threads);
  properties.maxThreadsPerMultiprocessor = static_cast<int>(limits.warps * nvidia_warp);
  properties.regsPerBlock = static_cast<int>(nvidia_registers);
  properties.regsPerMultiprocessor = static_cast<int>(nvidia_registers);
  properties.warpSize = static_cast<int>(nvidia_warp);
  properties.sharedMemPerBlock = 48 * 1024;
  properties.sharedMemPerMultiprocessor = limits.shared_bytes;
  properties.numSms = 100;
  properties.sharedMemPerBlockOptin = limits.shared_opt_in;
  properties.reservedSharedMemPerBlock = reserved_shared(limits);
  return properties;
}

int blocks_by_header(const cudaOccDeviceProp& properties, const KernelUse& use,
                     const Geometry& geometry) {
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = static_cast<int>(most_threads);
  attributes.numRegs = static_cast<int>(use.vgprs);
  attributes.sharedSizeBytes = use.shared_bytes;
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = properties.sharedMemPerBlockOptin - use.shared_bytes;
  attributes.numBlockBarriers = static_cast<int>(use.barriers);
  const cudaOccDeviceState state;
  cudaOccResult result;
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                              static_cast<int>(geometry.threads),
                                              geometry.dynamic_shared) != CUDA_OCC_SUCCESS) {
    return -1;
  }
  return result.activeBlocksPerMultiprocessor;
}
#endif

TEST(OccupancyHeader, AgreesOverAllArchitectures) {
#if __has_include(<cuda_occupancy.h>)
  const std::tuple<const char*, int, int> archs[] = {
      {"sm_70", 7, 0},   {"sm_75", 7, 5},   {"sm_80", 8, 0},   {"sm_86", 8, 6},
      {"sm_87", 8, 7},   {"sm_89", 8, 9},   {"sm_90", 9, 0},   {"sm_100", 10, 0},
      {"sm_103", 10, 3}, {"sm_110", 11, 0}, {"sm_120", 12, 0}, {"sm_121", 12, 1}};
  int compared = 0;
  for (const auto& [arch, major, minor] : archs) {
    const NvidiaLimits& limits = *find_nvidia(arch);
    const cudaOccDeviceProp properties = properties_of(limits, major, minor);
    for (unsigned registers = 1; registers <= 255; registers += 2) {
      for (const unsigned threads : {1u, 32u, 33u, 96u, 128u, 256u, 416u, 512u, 768u, 1024u}) {
        for (const std::uint64_t shared : {0u, 1u, 1000u, 4200u, 10000u, 33000u, 49152u}) {
          for (const std::uint64_t dynamic : {0u, 2000u, 50000u, 115712u}) {
            for (const unsigned barriers : {0u, 1u, 3u}) {
              if (shared > limits.shared_opt_in) continue;
              KernelUse use;
              use.vgprs = registers;
              use.shared_bytes = shared;
              use.barriers = barriers;
              const Geometry geometry = {threads, dynamic};
              const int expected = blocks_by_header(properties, use, geometry);
              ++compared;
              ASSERT_EQ(static_cast<int>(occupancy_of(limits, use, geometry).groups), expected)
                  << arch << ": " << registers << " registers, " << threads << " threads, "
                  << shared << " + " << dynamic << " bytes, " << barriers << " barriers";
            }
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 100000);
#else
  GTEST_SKIP() << "no cuda_occupancy.h on this machine";
#endif
}

}  // namespace
}  // namespace assay::occupancy
