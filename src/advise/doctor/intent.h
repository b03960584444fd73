// Checks the intended use of the machine against what is possible and what the machine has.
#pragma once

#include <span>
#include <string_view>

#include "advise/doctor/check.h"
#include "core/result.h"

namespace assay {

/// Checks a partition mode, which is in upper case: "SPX", "NPS1", "SPX/NPS1", "MIG"; empty is
/// valid. Error: usage, naming the valid modes.
Status check_partition(std::string_view partition);

/// Checks the intent against the GPUs. Error: usage if MIG is intended and all GPUs are AMD's, or
/// if a job on one node needs more GPUs than there are. The number is not checked if there is no
/// GPU, or if one has MIG slices.
Status check_intent(const Intent& intent, const std::vector<Gpu>& gpus);

}  // namespace assay
