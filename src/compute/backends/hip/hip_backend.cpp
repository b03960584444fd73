// AMD GPUs through libamdhip64 and hipRTC, both opened at run time.
#include "compute/backends/driver/driver_backend.h"
#include "compute/backends/hip/hip_dialect.h"

namespace assay::hip::hip_backend {
namespace {

std::unique_ptr<Backend> make() {
  return std::make_unique<driver::DriverBackend>("hip", "runtime", &HipDialect::load);
}

const BackendRegistry::Add registered(&make);

}  // namespace
}  // namespace assay::hip::hip_backend
