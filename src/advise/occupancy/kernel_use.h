// The resources that a compiler assigned to one kernel, from any kind of file. An optional is empty
// if the file does not say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay::occupancy {

struct KernelUse {
  std::string name;
  bool registers_known = true;  ///< false: `vgprs` is unset, because PTX has virtual registers only
  unsigned vgprs = 0;           ///< registers per lane; AMD: including accumulation VGPRs
  unsigned agprs = 0;           ///< AMD: the number of accumulation VGPRs in `vgprs`
  unsigned sgprs = 0;           ///< AMD: per wave
  std::uint64_t shared_bytes = 0;   ///< static LDS or shared memory of a work-group
  std::uint64_t scratch_bytes = 0;  ///< stack of each lane, in device memory
  std::optional<unsigned> vgpr_spills, sgpr_spills;  ///< AMD: number of spilled registers
  std::optional<std::uint64_t> spill_bytes;  ///< NVIDIA: stores and loads, if ptxas reported them
  unsigned max_threads = 0;                  ///< upper limit per work-group; 0: not specified
  unsigned barriers = 0;                     ///< NVIDIA: named barriers
  unsigned min_blocks = 0;                   ///< NVIDIA: .minnctapersm; 0: not specified
  bool dynamic_stack = false;                ///< AMD: more stack may be used than scratch_bytes
  std::optional<unsigned> compiler_waves;    ///< waves per SIMD in LLVM's comment "; Occupancy:"
};

}  // namespace assay::occupancy
