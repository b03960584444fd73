#include "compute/backends/hip/hip_libraries.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/library_search.h"

namespace assay::hip {

LibraryCandidates runtime_candidates() {
  // ROCm 10 still has soname 7; soname 8 is announced. PyTorch's wheels strip the number.
  LibraryCandidates candidates{
      "HIP runtime",
      {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so.8",
       "libamdhip64.so"},
      {"", "/opt/rocm/lib", "/opt/rocm/core/lib", "/opt/rocm/core-*/lib", "/opt/rocm-*/lib",
       "/usr/lib/x86_64-linux-gnu", "/usr/lib64"},
      "install ROCm's HIP runtime (apt: hip-runtime-amd, or libamdhip64-5 of Debian; pip: "
      "rocm-sdk-core)"};
  for (std::string& folder : python_library_folders({"_rocm_sdk_core/lib", "torch/lib"})) {
    candidates.folders.push_back(std::move(folder));
  }
  apply_override(candidates, "ASSAY_HIP_LIBRARY");
  return candidates;
}

Result<SharedLibrary> open_rtc(const SharedLibrary& runtime) {
  const std::string folder = std::filesystem::path(runtime.path()).parent_path();
  LibraryCandidates candidates{"hipRTC", {}, {""}, "install ROCm's hiprtc of the same release"};
  for (const char* name :
       {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so.8", "libhiprtc.so"}) {
    candidates.names.push_back(fmt::format("{}/{}", folder, name));
  }
  Result<SharedLibrary> library = SharedLibrary::open(candidates);
  if (!library && runtime.symbol("hiprtcCompileProgram") != nullptr) return runtime;
  return library;
}

Result<SharedLibrary> open_hsa(const SharedLibrary& runtime) {
  // The runtime has usually loaded it, so its name is enough to find it. The folder is for a
  // runtime that has not loaded it yet.
  return SharedLibrary::open({"HSA runtime",
                              {"libhsa-runtime64.so.1", "libhsa-runtime64.so"},
                              {std::filesystem::path(runtime.path()).parent_path().string(), ""},
                              "it comes with ROCm's HIP runtime"});
}

}  // namespace assay::hip
