// Searches a kernel's instructions for the patterns in AMD's workload guide. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "advise/occupancy/kernel_use.h"
#include "advise/occupancy/listing.h"

namespace assay::occupancy {

/// Instructions of one kind in a kernel.
struct Finding {
  std::string topic;      ///< "global load", "LDS", "MFMA", "wait", "scratch"
  std::string what;       ///< "global_load_dword", "vmcnt(0)", "f32_16x16x16_f16"
  unsigned bytes = 0;     ///< per lane and instruction; 0: does not apply, or unknown
  unsigned count = 0;     ///< such instructions in the code
  unsigned in_loops = 0;  ///< those of them that lie in loops
  std::string advice;     ///< empty: nothing to improve
  std::string source;     ///< the section of AMD's guide that gives the advice; empty without one
};

/// What the instructions of a kernel tell.
struct Scan {
  unsigned instructions = 0;  ///< all in the code
  unsigned loops = 0;         ///< Function::loops
  bool calls = false;  ///< the kernel has s_swappc_b64; callees' instructions are not counted
  std::vector<Finding> findings;
};

/// Scans one function. `use` and `arch` ("gfx942") decide which buffer instructions access scratch.
/// Findings are sorted by topic and `what`.
Scan scan(const Function& function, const KernelUse& use, std::string_view arch);

}  // namespace assay::occupancy
