// Finds NVIDIA's libraries. ASSAY_CUDA_LIBRARY (libcuda) and ASSAY_NVRTC_LIBRARY, each a file or a
// folder, override the search.
#pragma once

#include <string>

#include "core/shared_library.h"

namespace assay::cuda {

LibraryCandidates driver_candidates();  ///< libcuda
LibraryCandidates nvml_candidates();
/// `driver_version` is the number from cuDriverGetVersion (13000). Code from a compiler newer than
/// the driver may not load, so the driver's own major version comes first.
LibraryCandidates nvrtc_candidates(int driver_version);
/// Loads the builtins library beside NVRTC `major`.`minor`; does nothing if it is not there. NVRTC
/// opens it by name only, which fails if it is outside the linker's search path, as in a pip
/// package.
void preload_nvrtc_builtins(const std::string& nvrtc_path, int major, int minor);

}  // namespace assay::cuda
