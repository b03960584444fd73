// Decides which of a machine's GPUs a server sees, because servers side by side need one each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

/// The variable that hides the other GPUs from a process, and its possible values.
struct VisibleDevices {
  std::string variable;              ///< "HIP_VISIBLE_DEVICES"
  std::vector<std::string> devices;  ///< one value for each GPU this process may use
};

/// HIP_VISIBLE_DEVICES for AMD GPUs, where each partition counts, CUDA_VISIBLE_DEVICES for NVIDIA
/// GPUs, nothing without GPUs. If the variable is already set, only the GPUs that it lists are
/// used; an empty one hides all. HIP reads CUDA_VISIBLE_DEVICES if its own variable is not set.
/// ROCR_VISIBLE_DEVICES is left unchanged, because HIP numbers the GPUs that it leaves visible.
std::optional<VisibleDevices> visible_devices(const Machine& machine);

}  // namespace assay
