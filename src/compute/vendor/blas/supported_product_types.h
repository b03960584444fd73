// Checks whether a device supports the types of a product.
#pragma once

#include <optional>
#include <string>

#include "compute/vendor/blas/gemm_problem.h"
#include "results/record/device_facts.h"

namespace assay {

/// Returns why CUDA's libraries cannot multiply these types on this device; empty if they can.
std::optional<std::string> cuda_lacks_types(const GemmProblem& problem, const DeviceFacts& facts);
/// Returns why ROCm's libraries cannot multiply these types on this device, or that they have no
/// GemmProblem::fast_accumulate; empty if they can.
std::optional<std::string> rocm_lacks_types(const GemmProblem& problem, const DeviceFacts& facts);

}  // namespace assay
