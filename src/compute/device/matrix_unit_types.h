// Says which element types a device's matrix units support, judged by its architecture.
#pragma once

#include <optional>
#include <string>

#include "core/data_type.h"
#include "results/record/device_facts.h"

namespace assay {

/// Returns whether the device's native fp8 format is FNUZ (finite, no negative zero), as in gfx940
/// to gfx942. Other devices have the formats of OCP, the Open Compute Project.
bool has_fnuz_fp8(const DeviceFacts& facts);

/// Returns 90 for "sm_90" or "sm_90a"; 0 if the architecture is not one of CUDA's.
int compute_capability(const DeviceFacts& facts);

/// Returns whether the dialect's tiles (kernels/tile.h) run on the device: on its matrix units, or
/// on a CPU.
bool has_own_matrix_units(const DeviceFacts& facts);

/// Returns why CUDA's libraries cannot compute with `type` on this device; empty if they can.
std::optional<std::string> cuda_lacks_type(DataType type, const DeviceFacts& facts);
/// Returns why ROCm's libraries cannot compute with `type` on this device; empty if they can.
std::optional<std::string> rocm_lacks_type(DataType type, const DeviceFacts& facts);

}  // namespace assay
