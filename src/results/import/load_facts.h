// Says what the numbers of a load on a server tell of it beside what its program says.
#pragma once

#include <string>

#include "results/record/record.h"

namespace assay {

/// Adds the lengths of prompts and replies to a cell that does not tell them, to within a tenth or
/// so: they tell loads apart, but are never quite the same in two runs. Voids
/// latencies that cannot be: returns which ones and why, empty if there are none.
std::string complete_load(Record& record);

}  // namespace assay
