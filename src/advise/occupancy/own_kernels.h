// Occupancy of assay's own kernels on a device, compared with the driver's answer.
#pragma once

#include <string>
#include <vector>

#include "advise/occupancy/report.h"
#include "compute/device/device.h"
#include "core/result.h"

namespace assay::occupancy {

struct OwnKernel {
  std::string program;  ///< "memory"
  std::string name;     ///< "triad_f64"
};

/// Returns every kernel that is built in, sorted by program and name.
std::vector<OwnKernel> own_kernels();

/// Returns the first kernel of this name. Error: usage if `name` is unknown, with the closest name
/// and all others.
Result<OwnKernel> find_own_kernel(const std::string& name);

/// Returns resources, occupancy and the driver's figure for one kernel with that geometry. Error:
/// unsupported on a CPU, and on a device whose architecture find_amd() and find_nvidia() do not
/// know; the device's.
Result<KernelReport> measure_kernel(const Device& device, Kernel& kernel, std::string name,
                                    const Geometry& geometry);
/// Returns whether the driver's figure is `occupancy->groups`; false if one is unknown. AMD's query
/// ignores the allocation granule of LDS, and is compared with a figure that also ignores it.
bool driver_agrees(const KernelReport& kernel, std::string_view arch);

}  // namespace assay::occupancy
