// Which metrics of another program's result are judged: a result that states one thing in several
// ways is one cell to judge, and the rest is shown beside it.
#pragma once

#include "results/record/record.h"

namespace assay {

/// Makes what only repeats the cell's result Better::neither: of a collective operation all but the
/// bus bandwidth, of a load all but what `assay load` judges of its own. A record that has none of
/// these keeps what it has.
void keep_judged(Record& record);

}  // namespace assay
