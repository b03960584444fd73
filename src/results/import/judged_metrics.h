// Selects the metrics of another program's result that are judged. A result that states the same
// thing in several ways is judged once, and the other metrics are shown beside it.
#pragma once

#include "results/record/record.h"

namespace assay {

/// Sets metrics that are not judged to Better::neither: of a cell of "collective" all but the bus
/// bandwidth, of one of "serving" all but those that `assay load` judges. Other records, and those
/// without any judged metric, are left unchanged.
void keep_judged(Record& record);

}  // namespace assay
