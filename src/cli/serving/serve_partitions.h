// One server process for each of several parts of a machine.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace assay::cli {

/// The options of `arguments` as command-line arguments of a server; those that `but` names are
/// left out.
std::vector<std::string> server_words(const Arguments& arguments,
                                      std::initializer_list<std::string_view> but);

/// Starts `assay serve` once for each of `count` GPUs or equal parts of the CPUs, on ports next to
/// each other (--port 0: any), with the other options of this process; prints where they listen,
/// and ends all of them on an interrupt, or when one ends. Error: usage, if there are too few GPUs
/// or CPUs, or --device names a single one; unavailable, if a server has ended.
Status serve_partitions(const Arguments& arguments, int count, Terminal& terminal);

}  // namespace assay::cli
