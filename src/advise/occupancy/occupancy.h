// Computes how many work-groups of a kernel are resident on one compute unit, what limits them, and
// how much to save to fit more. Pure functions. On NVIDIA, a compute unit is a multiprocessor, a
// work-group a block, a wave a warp, and a SIMD a sub-partition.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "advise/occupancy/kernel_use.h"
#include "advise/occupancy/limits.h"

namespace assay::occupancy {

/// The launch of a kernel.
struct Geometry {
  unsigned threads = 256;            ///< per work-group, 1 to most_threads of limits.h
  std::uint64_t dynamic_shared = 0;  ///< bytes beyond KernelUse::shared_bytes
};

constexpr unsigned unlimited = std::numeric_limits<unsigned>::max();

/// How many work-groups one resource would allow if it were the only limit.
struct WorkgroupLimit {
  /// AMD: "VGPRs", "SGPRs", "LDS", "wave slots" or "barriers"; NVIDIA: "registers", "shared
  /// memory", "warp slots", "block slots" or "barriers".
  std::string resource;
  unsigned groups = 0;  ///< per compute unit, or `unlimited`
};

/// How much less of a resource a kernel must use.
struct Saving {
  std::string resource;      ///< as in WorkgroupLimit
  std::uint64_t amount = 0;  ///< registers per lane (SGPRs: per wave), or bytes per work-group
};

/// How many work-groups fit, and why no more.
struct Occupancy {
  unsigned waves_per_group = 0;
  unsigned groups = 0;                 ///< per compute unit; 0: not even one fits
  unsigned wave_slots = 0;             ///< per compute unit
  std::string limiter;                 ///< the scarcest resources: "VGPRs and LDS"
  std::vector<WorkgroupLimit> limits;  ///< one for each resource; barriers only if it uses them
  /// The smallest savings that together let more groups fit; empty: no saving helps.
  std::vector<Saving> savings;
  unsigned next_groups = 0;  ///< the number of groups that fit with these savings

  unsigned waves() const { return groups * waves_per_group; }
  double waves_per_simd() const { return waves_per_simd(groups); }
  double waves_per_simd(unsigned of_groups) const {
    return static_cast<double>(of_groups * waves_per_group) / simds;
  }
};

/// Computes the occupancy of a kernel with KernelUse::registers_known.
Occupancy occupancy_of(const AmdLimits& limits, const KernelUse& use, const Geometry& geometry);
Occupancy occupancy_of(const NvidiaLimits& limits, const KernelUse& use, const Geometry& geometry);

/// Returns the bytes of shared memory that the system reserves in each block, in addition to the
/// block's own.
std::uint64_t reserved_shared(const NvidiaLimits& limits);

}  // namespace assay::occupancy
