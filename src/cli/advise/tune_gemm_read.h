// assay tune gemm --read: tuning files held against this machine, and merged.
#pragma once

#include "cli/advise/tune_gemm_request.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Says of each file what does not fit this PyTorch, device and libraries, row by row, and writes
/// the rows of TunableOp's files as one. Returns the exit status: exit_differs if something does
/// not fit.
int read_tuning_files(const TuneGemmRequest& request, bool write, Terminal& terminal);

}  // namespace assay::cli
