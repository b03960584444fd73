// Looks through a kernel's instructions for what AMD's workload guide advises on. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "machine/occupancy/kernel_use.h"
#include "machine/occupancy/listing.h"

namespace assay::occupancy {

struct Finding {
  std::string topic;   ///< "global load", "LDS", "MFMA", "wait", "scratch"
  std::string what;    ///< "global_load_dword", "vmcnt(0)", "f32_16x16x16_f16"
  unsigned bytes = 0;  ///< per lane and instruction; 0 where that means nothing
  unsigned count = 0;
  unsigned in_loops = 0;
  std::string advice;  ///< empty: nothing to better
  std::string source;  ///< where the advice is from
};

struct Scan {
  unsigned instructions = 0;
  unsigned loops = 0;
  bool calls = false;  ///< of functions, whose instructions are not counted
  std::vector<Finding> findings;
};

Scan scan(const Function& function, const KernelUse& use, std::string_view arch);

}  // namespace assay::occupancy
