// Which of a machine's GPUs a server sees: several servers side by side need one each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

/// The variable that hides all others from a process, and what it may say.
struct VisibleDevices {
  std::string variable;              ///< "HIP_VISIBLE_DEVICES"
  std::vector<std::string> devices;  ///< one value for each GPU this process may use
};

/// HIP_VISIBLE_DEVICES where there are AMD GPUs, partitions counted each, CUDA_VISIBLE_DEVICES
/// where there are NVIDIA ones, nothing where there are none. If the variable is set already, its
/// list is what may be used. ROCR_VISIBLE_DEVICES is left as it is: HIP counts what that leaves.
std::optional<VisibleDevices> visible_devices(const Machine& machine);

}  // namespace assay
