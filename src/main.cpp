#include "cli/cli.h"
#include "compute/device/rtc_worker.h"

int main(int argc, char** argv) {
  if (const auto status = assay::run_as_rtc_worker(argc, argv)) return *status;
  return assay::cli::main(argc, argv);
}
