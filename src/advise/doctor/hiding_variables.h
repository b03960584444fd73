// Variables that hide GPUs from programs: what each leaves, in the order in which they act.
#pragma once

#include <string>
#include <vector>

#include "advise/doctor/check.h"

namespace assay {

struct HidingVariable {
  std::string name, value;
  int before = 0;       ///< GPUs that the variable counts
  int left = 0;         ///< GPUs that it leaves
  std::string unknown;  ///< its first entry that names none of them; runtimes ignore what follows
};

/// Returns the variables that are set. HIP_VISIBLE_DEVICES, or CUDA_VISIBLE_DEVICES without it,
/// counts what ROCR_VISIBLE_DEVICES leaves; NVIDIA's runtime knows only CUDA_VISIBLE_DEVICES. None
/// on a machine with MIG slices, whose number is unknown.
std::vector<HidingVariable> hiding_variables(const CheckContext& context);

}  // namespace assay
