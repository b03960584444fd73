// Collects what PyTorch and hipBLASLt on this machine compare before they use a tuning file. A
// tuning file is a results file of PyTorch's TunableOp or an override file of hipBLASLt.
#pragma once

#include <string>
#include <string_view>

#include "advise/tune/gemm/override_file.h"
#include "advise/tune/gemm/product_tuner.h"
#include "advise/tune/gemm/tunable_fit.h"
#include "compute/device/backend.h"
#include "compute/device/device.h"

namespace assay {

/// Returns why `library` cannot use its solution `index` for `problem` on `device`; empty if it
/// can. `library` is the name of a BlasProvider, such as "hipblaslt". A library that is unknown or
/// cannot be opened is a reason, too. The tuner opens libraries, here and below.
std::string missing_solution(const Device& device, ProductTuner& tuner, const GemmProblem& problem,
                             std::string_view library, std::int64_t index);

/// Returns what PyTorch on this machine compares with the validators of a results file. `runtime`
/// is the version of the HIP runtime, such as "7.0.51831"; `hip` is empty if it is no version. The
/// caller sets `pytorch`, which this process cannot know. A library's version is empty if it cannot
/// be opened or does not report it.
TunableOpFacts tunable_op_facts(const Device& device, ProductTuner& tuner,
                                std::string_view runtime);

/// Returns what hipBLASLt on this machine compares with the rows of an override file. `git_version`
/// is empty if the library cannot be opened or does not report it.
OverrideFacts override_facts(const Device& device, ProductTuner& tuner);

}  // namespace assay
