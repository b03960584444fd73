// Reads what NVML reports about the NVIDIA GPUs of this machine: the answer of the probe "nvidia".
#pragma once

#include "compute/backends/cuda/nvml_api.h"
#include "machine/system/gpu.h"

namespace assay::cuda {

/// Everything about one device that NVML reports without a context.
Gpu nvml_gpu(const NvmlApi& api, NvmlDevice* device, int index);

/// {"driver", "library", "cuda_driver", "gpus": [...]}, {"problem"} if NVML is present but does not
/// work, null if it is absent.
Json nvml_facts();

/// CUDA cores per SM of a compute capability, to derive the number of SMs; 0 if unknown.
int cores_per_multiprocessor(int major, int minor);
/// Gigatransfers/s of a PCIe generation; 0 if unknown.
double pcie_speed_gts(unsigned generation);

}  // namespace assay::cuda
