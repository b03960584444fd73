// Checks the files that commands on traces write, before hours of traces are read.
#pragma once

#include <string_view>

#include "cli/command.h"
#include "core/result.h"

namespace assay::cli {

/// Checks that the file which `option` names can be written and is no trace, which the result would
/// replace. An option that is not given passes. Error: as check_writable() (core/write_file.h);
/// usage, if it is a trace.
Status check_no_trace_is_replaced(std::string_view option, const Arguments& arguments);

}  // namespace assay::cli
