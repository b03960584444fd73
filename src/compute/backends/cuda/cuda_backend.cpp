// NVIDIA GPUs through libcuda.so.1 and NVRTC, both opened at run time.
#include "compute/backends/cuda/cuda_dialect.h"
#include "compute/backends/driver/driver_backend.h"

namespace assay::cuda::cuda_backend {
namespace {

std::unique_ptr<Backend> make() {
  return std::make_unique<driver::DriverBackend>("cuda", "driver", &CudaDialect::load);
}

const BackendRegistry::Add registered(&make);

}  // namespace
}  // namespace assay::cuda::cuda_backend
