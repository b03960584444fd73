// SIGINT, SIGTERM and SIGHUP: the first asks the run to shut down cleanly, the second ends it at
// once, and kills the programs that it started with all that these started. A second one within
// half a second counts with the first: the program `timeout` sends one to its child and one to all.
#pragma once

namespace assay::cli {

/// Makes a closed pipe and the file size limit ordinary errors of write() instead of fatal signals.
void ignore_write_signals();
/// From now on the first SIGINT, SIGTERM or SIGHUP only sets a flag; before, they end the process
/// by default. SIGHUP stays ignored if it is, as under nohup.
void catch_interrupts();
/// Returns that flag; from any thread.
bool interrupt_requested();

}  // namespace assay::cli
