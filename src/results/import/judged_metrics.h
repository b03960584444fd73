// Selects the metrics of another program's result that are judged. A result that states the same
// thing in several ways is judged once, and the other metrics are shown beside it.
#pragma once

#include "results/record/record.h"

namespace assay {

/// Sets metrics that repeat the cell's result to Better::neither: for a collective operation all
/// but the bus bandwidth, for a load all but those that `assay load` judges. A record without any
/// of the judged metrics is left unchanged.
void keep_judged(Record& record);

}  // namespace assay
