// A tuned matrix product as a record, so that its tuning can be stored, shown and compared.
#pragma once

#include "advise/tune/gemm/gemm_files.h"
#include "results/record/record.h"

namespace assay {

/// The time of the product after tuning, what it was before, and the first times of all solutions
/// as a curve. Without run, time, device and fingerprint.
Record record_of(const TunedProduct& tuned);

}  // namespace assay
