// AMD GPUs as the amdgpu and amdkfd drivers describe them in sysfs.
#pragma once

#include <vector>

#include "machine/system/gpu.h"

namespace assay {

/// Returns one entry per socket, sorted by PCI address; a partition is part of its GPU and no
/// separate entry. Without KFD, architecture, compute units, dies, device files, links and
/// `visible` stay empty; without hwmon, power, its limits and the temperature.
std::vector<Gpu> read_amd_gpus(const Machine& machine);

/// Returns the marketing name of a PCI device id ("74a1"), for drivers that report none; empty if
/// unknown.
std::string amd_name(std::string_view device_id);

}  // namespace assay
