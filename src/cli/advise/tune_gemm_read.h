// assay tune gemm --read: checks tuning files against this machine, and merges them.
#pragma once

#include "cli/advise/tune_gemm_request.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Reports for each file the rows that do not fit this PyTorch, device and libraries; with `write`,
/// merges the rows of TunableOp's files into one file. Returns the exit status: exit_differs if
/// something does not fit, or that of an error, which it prints.
int read_tuning_files(const TuneGemmRequest& request, bool write, Terminal& terminal);

}  // namespace assay::cli
