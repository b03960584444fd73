// The resources that one compute unit (AMD) or multiprocessor (NVIDIA) divides among work-groups.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::occupancy {

constexpr unsigned simds = 4;  ///< per CDNA compute unit; an NVIDIA SM has as many sub-partitions

/// Limits of a CDNA compute unit. Each SIMD has one register file of 512 registers per lane, shared
/// by architectural and accumulation VGPRs.
struct AmdLimits {
  std::string_view arch;      ///< "gfx942"
  std::uint64_t lds_bytes;    ///< per compute unit; one work-group may use all of it
  std::uint64_t lds_granule;  ///< bytes; a work-group gets a multiple of it
};
constexpr unsigned amd_wave = 64;
// The waves of a SIMD share its registers, and a wave gets a multiple of the granule.
constexpr unsigned amd_vgprs = 512, amd_vgpr_granule = 8;   ///< registers per lane
constexpr unsigned amd_sgprs = 800, amd_sgpr_granule = 16;  ///< registers per SIMD
constexpr unsigned amd_waves_per_simd = 8;
constexpr unsigned amd_barriers = 16;  ///< per compute unit; a group of several waves takes one

/// Limits of a multiprocessor of one compute capability. The number of registers and their granule
/// are the same for all; occupancy.cpp has the granule of shared memory, and the bytes of it that
/// the system reserves in each block.
struct NvidiaLimits {
  std::string_view arch;        ///< "sm_90"
  unsigned major;               ///< of the compute capability
  unsigned warps, blocks;       ///< upper limits per multiprocessor
  unsigned barriers;            ///< named barriers of all resident blocks together; 0: no limit
  std::uint64_t shared_bytes;   ///< per multiprocessor, with what the system reserves
  std::uint64_t shared_opt_in;  ///< upper limit per block, without what the system reserves
};
constexpr unsigned nvidia_warp = 32;
/// Each sub-partition has a quarter of the registers, and a warp gets a multiple of the granule.
constexpr unsigned nvidia_registers = 65536, nvidia_register_granule = 256;
constexpr unsigned nvidia_registers_per_thread = 255;

constexpr unsigned most_threads = 1024;  ///< per work-group, on every architecture

/// Returns the limits of an AMD architecture; "gfx942" and "gfx942:sramecc+:xnack-" are equivalent.
/// Null if it is unknown.
const AmdLimits* find_amd(std::string_view arch);
/// Returns the limits of an NVIDIA architecture, such as "sm_90", "sm_90a" or "compute_90". Null if
/// it is unknown.
const NvidiaLimits* find_nvidia(std::string_view arch);
/// Returns all known architectures as text: "gfx90a, gfx942, ..., sm_120".
std::string known_archs();

}  // namespace assay::occupancy
