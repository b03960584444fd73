// What NVML says of the NVIDIA GPUs of this machine, as the answer of the probe "nvidia".
#pragma once

#include "compute/backends/cuda/nvml_api.h"
#include "machine/system/gpu.h"

namespace assay::cuda {

/// Everything about one device that NVML tells without a context.
Gpu nvml_gpu(const NvmlApi& api, NvmlDevice* device, int index);

/// {"driver", "library", "cuda_driver", "gpus": [...]}, {"problem"} where NVML is there but does
/// not work, null where there is none.
Json nvml_facts();

/// SMs from CUDA cores: cores of one SM of a compute capability; 0 if not known.
int cores_per_multiprocessor(int major, int minor);
/// Gigatransfers/s of a PCIe generation; 0 if not known.
double pcie_speed_gts(unsigned generation);

}  // namespace assay::cuda
