// What a compiler gave one kernel, from whichever file says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay::occupancy {

struct KernelUse {
  std::string name;
  bool registers_known = true;      ///< PTX has virtual registers only
  unsigned vgprs = 0;               ///< AMD: all of them, accumulation included; NVIDIA: per thread
  unsigned agprs = 0;               ///< AMD: how many of `vgprs` accumulate
  unsigned sgprs = 0;               ///< AMD
  std::uint64_t shared_bytes = 0;   ///< static LDS or shared memory of a work-group
  std::uint64_t scratch_bytes = 0;  ///< per lane, in memory
  std::optional<unsigned> vgpr_spills, sgpr_spills;  ///< AMD: registers
  std::optional<std::uint64_t> spill_bytes;          ///< NVIDIA: stores and loads, if ptxas said so
  unsigned max_threads = 0;                          ///< most a work-group may have; 0: not said
  unsigned barriers = 0;                             ///< NVIDIA: named barriers
  unsigned min_blocks = 0;                           ///< NVIDIA: .minnctapersm; 0: not said
  bool dynamic_stack = false;                        ///< scratch_bytes is not all of it
  std::optional<unsigned> compiler_waves;  ///< LLVM's own "; Occupancy:" comment, waves per SIMD
};

}  // namespace assay::occupancy
