// A tuned GEMM as a record that can be stored, shown and compared.
#pragma once

#include "advise/tune/gemm/gemm_files.h"
#include "results/record/record.h"

namespace assay {

/// Makes the record of a tuned GEMM: its time after and before tuning, and the screening times
/// ProductOutcome::first_times as a curve. The caller fills in run, time, device and fingerprint.
Record record_of(const TunedProduct& tuned);

}  // namespace assay
