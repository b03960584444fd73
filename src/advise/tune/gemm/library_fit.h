// What a machine's libraries say of the solutions that tuning files name.
#pragma once

#include <string>
#include <string_view>

#include "advise/tune/gemm/override_file.h"
#include "advise/tune/gemm/product_tuner.h"
#include "advise/tune/gemm/tunable_fit.h"
#include "compute/device/backend.h"
#include "compute/device/device.h"

namespace assay {

/// Why `library` has no solution of this number for the product on this device; empty: it has.
std::string missing_solution(const Device& device, ProductTuner& tuner, const GemmProblem& problem,
                             std::string_view library, std::int64_t index);

/// What PyTorch compares files with, except for its own version, which is left empty. `runtime`:
/// the version of the HIP runtime, "7.0.51831". Libraries that cannot be opened stay unknown.
TunableMachine tunable_machine(const Device& device, ProductTuner& tuner, std::string_view runtime);

/// What hipBLASLt compares rows with.
OverrideMachine override_machine(const Device& device, ProductTuner& tuner);

}  // namespace assay
