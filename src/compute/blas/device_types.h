// Which element types a device's matrix libraries can multiply, judged by its architecture.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compute/blas/gemm_problem.h"
#include "machine/system/device_facts.h"

namespace assay {

bool is_fp8(DataType type);
bool is_fnuz(DataType type);
/// Whether the device's own fp8 is FNUZ: gfx940 to gfx942.
bool has_fnuz_fp8(const DeviceFacts& facts);

/// 90 for "sm_90" or "sm_90a"; 0 if the architecture is not one of CUDA's.
int compute_capability(const DeviceFacts& facts);

/// Why CUDA's libraries cannot multiply these types on this device; empty if they can.
std::optional<std::string> cuda_lacks_type(const GemmProblem& problem, const DeviceFacts& facts);
/// The same for ROCm's libraries.
std::optional<std::string> rocm_lacks_type(const GemmProblem& problem, const DeviceFacts& facts);

/// "13.1.0" from 130100, the numbering of cuBLAS and cuBLASLt.
std::string cuda_version_text(std::size_t number);

}  // namespace assay
