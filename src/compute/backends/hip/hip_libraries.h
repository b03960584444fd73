// Finds AMD's libraries, from ROCm 5 to 10, in packages, wheels and distributions.
// ASSAY_HIP_LIBRARY, a file or a folder, overrides the search.
#pragma once

#include "core/result.h"
#include "core/shared_library.h"

namespace assay::hip {

LibraryCandidates runtime_candidates();  ///< libamdhip64

/// Returns the library that contains hipRTC for this runtime: libhiprtc beside it, or else, up to
/// ROCm 6, the runtime itself. The hipRTC of another release is never used. Error: unavailable.
Result<SharedLibrary> open_rtc(const SharedLibrary& runtime);

/// Opens the HSA runtime (libhsa-runtime64) that `runtime` uses. Error: unavailable.
Result<SharedLibrary> open_hsa(const SharedLibrary& runtime);

}  // namespace assay::hip
