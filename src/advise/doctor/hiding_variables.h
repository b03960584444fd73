// Variables that hide GPUs from programs: what each leaves, in the order in which they act.
#pragma once

#include <string>
#include <vector>

#include "advise/doctor/check.h"

namespace assay {

struct HidingVariable {
  std::string name, value;
  int before = 0;       ///< devices (count_devices()) from which the variable chooses
  int left = 0;         ///< devices that it leaves
  std::string unknown;  ///< its first entry that names none of them; runtimes ignore what follows
};

/// Returns the variables that are set. HIP_VISIBLE_DEVICES, or CUDA_VISIBLE_DEVICES without it,
/// counts what ROCR_VISIBLE_DEVICES leaves; NVIDIA's runtime knows only CUDA_VISIBLE_DEVICES. An
/// empty variable hides all GPUs; only old HIP, such as that of ROCm 5.2, ignores it (CLR,
/// flags.cpp). Returns none on a machine with MIG slices, whose number is unknown.
std::vector<HidingVariable> hiding_variables(const CheckContext& context);

}  // namespace assay
