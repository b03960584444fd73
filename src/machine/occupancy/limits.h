// What one compute unit (AMD) or multiprocessor (NVIDIA) has to share out among work-groups.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::occupancy {

constexpr unsigned simds = 4;  ///< per CDNA compute unit; NVIDIA's SMs have as many sub-partitions

/// CDNA: one register file of 512 per lane and SIMD, shared by architectural and accumulation
/// VGPRs.
struct AmdLimits {
  std::string_view arch;
  std::uint64_t lds_bytes;    ///< per compute unit; one work-group may have all of it
  std::uint64_t lds_granule;  ///< bytes
};
constexpr unsigned amd_wave = 64;
constexpr unsigned amd_vgprs = 512, amd_vgpr_granule = 8;
constexpr unsigned amd_sgprs = 800, amd_sgpr_granule = 16;
constexpr unsigned amd_waves_per_simd = 8;
constexpr unsigned amd_barriers = 16;  ///< work-groups of more than one wave that may be resident

/// By compute capability; registers and granules are the same on all of them.
struct NvidiaLimits {
  std::string_view arch;
  unsigned major;
  unsigned warps, blocks;       ///< most per multiprocessor
  unsigned barriers;            ///< named barriers that resident blocks share; 0: not counted
  std::uint64_t shared_bytes;   ///< per multiprocessor
  std::uint64_t shared_opt_in;  ///< most of one block
};
constexpr unsigned nvidia_warp = 32;
constexpr unsigned nvidia_registers = 65536, nvidia_register_granule = 256;
constexpr unsigned nvidia_registers_per_thread = 255;

constexpr unsigned most_threads = 1024;  ///< of a work-group, on all of them

/// "gfx942" and "gfx942:sramecc+:xnack-" mean the same. Null if it is not one of the known ones.
const AmdLimits* find_amd(std::string_view arch);
/// "sm_90", "sm_90a", "compute_90".
const NvidiaLimits* find_nvidia(std::string_view arch);
/// "gfx90a, gfx942, ..., sm_120"
std::string known_archs();

}  // namespace assay::occupancy
