// One server process for each of several parts of a machine.
#pragma once

#include "cli/command.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace assay::cli {

/// Starts `assay serve` once for each of `count` GPUs or equal parts of the CPUs, on ports next to
/// each other, with the other options of this process; prints where they listen, and ends all of
/// them on an interrupt, or when one ends. Error: usage, if there are too few GPUs or CPUs;
/// unavailable, if a server has ended.
Status serve_partitions(const Arguments& arguments, int count, Terminal& terminal);

}  // namespace assay::cli
