// The intended use of the machine, checked against what is possible and what the machine has.
#pragma once

#include <span>
#include <string_view>

#include "advise/doctor/check.h"
#include "core/result.h"

namespace assay {

/// `partition` is in upper case: "SPX", "NPS1", "SPX/NPS1", "MIG". Error: usage, naming the valid
/// modes, if it is none of them.
Status check_partition(std::string_view partition);

/// Error: usage, if these GPUs cannot be in that mode, or are fewer than the job needs on one node.
Status check_intent(const Intent& intent, const std::vector<Gpu>& gpus);

}  // namespace assay
