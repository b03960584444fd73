// Checks of tuning files against the libraries of this machine.
#pragma once

#include <string>
#include <string_view>

#include "advise/tune/gemm/override_file.h"
#include "advise/tune/gemm/product_tuner.h"
#include "advise/tune/gemm/tunable_fit.h"
#include "compute/device/backend.h"
#include "compute/device/device.h"

namespace assay {

/// Why `library` has no solution with this index for the GEMM on this device; empty if it has one.
std::string missing_solution(const Device& device, ProductTuner& tuner, const GemmProblem& problem,
                             std::string_view library, std::int64_t index);

/// The facts with which PyTorch on this machine compares files. PyTorch's own version is left
/// empty. `runtime`: the version of the HIP runtime, "7.0.51831". The versions of libraries that
/// cannot be opened stay empty.
TunableMachine tunable_machine(const Device& device, ProductTuner& tuner, std::string_view runtime);

/// The facts with which hipBLASLt on this machine compares rows.
OverrideMachine override_machine(const Device& device, ProductTuner& tuner);

}  // namespace assay
