// Where NVIDIA's libraries are looked for. Overridden by ASSAY_CUDA_LIBRARY (libcuda) and
// ASSAY_NVRTC_LIBRARY, each a file or a folder.
#pragma once

#include <string>

#include "core/shared_library.h"

namespace assay::cuda {

LibraryCandidates driver_candidates();
LibraryCandidates nvml_candidates();
/// `driver_version` as cuDriverGetVersion gives it (13000): code from a newer compiler than the
/// driver may not load, so the driver's own major version comes first.
LibraryCandidates nvrtc_candidates(int driver_version);
/// NVRTC `major`.`minor` opens its library of builtins by name alone, which fails outside the
/// linker's path (in a pip package): loads the one beside it first.
void preload_nvrtc_builtins(const std::string& nvrtc_path, int major, int minor);

}  // namespace assay::cuda
