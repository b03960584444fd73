// SIGINT and SIGTERM: the first asks the run to end in good order, the second ends it at once.
#pragma once

namespace assay::cli {

/// Makes a closed pipe and a file size limit errors of write() like any other instead of ends of
/// the process.
void ignore_write_signals();
/// From now on SIGINT and SIGTERM set a flag; without this they end the process as usual.
void catch_interrupts();
bool interrupt_requested();

}  // namespace assay::cli
