// Occupancy of assay's own kernels on a device, compared with the driver's answer.
#pragma once

#include <string>
#include <vector>

#include "advise/occupancy/report.h"
#include "compute/device/device.h"
#include "core/result.h"

namespace assay::occupancy {

struct OwnKernel {
  /// The file in compute/kernels without its ending, which Device::build() takes: "memory".
  std::string program;
  std::string name;  ///< "triad_f64"
};

/// Returns every kernel that is built in, sorted by program and name. A kernel that
/// needs instructions which an architecture lacks is missing from programs built for it.
std::vector<OwnKernel> own_kernels();

/// Returns all kernels for "all", otherwise the first kernel of this name. Error: usage if there is
/// none, with the closest name and all others.
Result<std::vector<OwnKernel>> own_kernels_named(const std::string& name);

/// Returns resources, occupancy and the driver's figure for a kernel launched with `geometry`.
/// `name` is the report's name for it. If the launch has dynamic shared memory, `kernel` is allowed
/// to use it from then on. Error: unsupported on a CPU, and on a device whose architecture
/// find_amd() and find_nvidia() (limits.h) do not know; as Kernel::resources(),
/// allow_dynamic_shared() and blocks_per_multiprocessor().
Result<KernelReport> measure_kernel(const Device& device, Kernel& kernel, std::string name,
                                    const Geometry& geometry);
/// Returns whether the driver's figure is the computed one; false if either is unknown. `arch` is
/// the architecture that measure_kernel() computed the report for. AMD's query ignores the
/// allocation granule of LDS, so its figure is compared with an occupancy computed without this
/// granule.
bool driver_agrees(const KernelReport& kernel, std::string_view arch);

}  // namespace assay::occupancy
