// What the user says the machine is for, held against what there can be and what there is.
#pragma once

#include <span>
#include <string_view>

#include "core/result.h"
#include "machine/doctor/check.h"

namespace assay {

/// Error: usage, naming the modes there are, if `partition` (upper case) is none: "SPX", "NPS1",
/// "SPX/NPS1", "MIG".
Status check_partition(std::string_view partition);

/// Error: usage, if these GPUs cannot be in that mode, or are fewer than one node's job needs.
Status check_intent(const Intent& intent, const std::vector<Gpu>& gpus);

}  // namespace assay
