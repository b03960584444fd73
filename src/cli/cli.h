// The command line: the only code that prints, handles signals or decides the exit status.
#pragma once

namespace assay::cli {

/// Runs the command `argv` names and returns the exit status (exit_code.h).
int main(int argc, char** argv);

}  // namespace assay::cli
