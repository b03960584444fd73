// Finds the vendors' libraries of kernels, BLAS, RCCL, cuDNN, MIOpen and oneDNN, and CUPTI.
// (Backends find the runtimes and compilers, and ranks/collective/nccl_library.h finds NCCL.)
#pragma once

#include <string_view>

#include "core/result.h"
#include "core/shared_library.h"

namespace assay {

/// Opens libcublasLt or libcublas; `stem` is the file name up to ".so". The environment variable
/// `override_variable` can name a file or folder to use instead of searching. Error: unavailable.
Result<SharedLibrary> open_cuda_library(std::string_view stem, const char* override_variable);

/// Opens libhipblaslt, librocblas, librccl or libMIOpen. It looks first beside the HIP runtime that
/// this process has loaded, because a second copy of that runtime would not see the device. Error:
/// unavailable.
Result<SharedLibrary> open_rocm_library(std::string_view stem, const char* override_variable);

/// Opens libcudnn of cuDNN 9, which loads its other parts from its own folder. ASSAY_CUDNN_LIBRARY
/// overrides the search. Error: unavailable.
Result<SharedLibrary> open_cudnn_library();

/// Opens libcupti, CUDA's tracing library. ASSAY_CUPTI_LIBRARY overrides the search. Error:
/// unavailable.
Result<SharedLibrary> open_cupti_library();

/// Opens libdnnl of oneDNN 3 or 2. ASSAY_ONEDNN_LIBRARY overrides the search. Error: unavailable.
Result<SharedLibrary> open_onednn_library();

}  // namespace assay
