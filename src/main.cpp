#include "cli/cli.h"
#include "compute/device/rtc_worker.h"
#include "core/thread_stacks.h"

int main(int argc, char** argv) {
  assay::ensure_thread_stacks();
  if (const auto status = assay::run_as_rtc_worker(argc, argv)) return *status;
  return assay::cli::main(argc, argv);
}
