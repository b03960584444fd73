// The command line: the only code that prints, handles signals or decides the exit status.
#pragma once

#include <string_view>

#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace assay::cli {

/// Runs the command named in `argv` and returns the exit status (exit_code.h).
int main(int argc, char** argv);

/// Returns `error` with the name of the option that caused it before its message.
Error about(std::string_view option, const Error& error);

/// Prints the error and returns its exit status.
int report(Terminal& terminal, const Error& error);

/// Warns if this machine has no /proc, from which most facts about it come.
void complain_without_proc(Terminal& terminal);

}  // namespace assay::cli
