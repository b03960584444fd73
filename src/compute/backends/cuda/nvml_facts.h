// Reads what NVML reports about the NVIDIA GPUs of this machine: the answer of the probe "nvidia".
#pragma once

#include "compute/backends/cuda/nvml_api.h"
#include "machine/system/gpu.h"

namespace assay::cuda {

/// Returns all facts about one device that NVML reports, and its NUMA node and CPUs from sysfs.
/// `Gpu::driver` stays empty.
Gpu nvml_gpu(const NvmlApi& api, NvmlDevice* device, int index);

/// Returns {"driver", "library", "cuda_driver", "gpus": [...]}. "cuda_driver" is the newest CUDA
/// that the driver supports, 13000 for 13.0. Returns {"problem"} if the driver's device files exist
/// but NVML does not work or is absent, and null if they do not exist either.
Json nvml_facts();

/// CUDA cores per SM of a compute capability, to derive the number of SMs; 0 if unknown.
int cores_per_multiprocessor(int major, int minor);
/// Gigatransfers/s of a PCIe generation; 0 if unknown.
double pcie_speed_gts(unsigned generation);

}  // namespace assay::cuda
