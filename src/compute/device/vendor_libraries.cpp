#include "compute/device/vendor_libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "core/library_search.h"

namespace assay {
namespace {

using Names = std::vector<std::string>;

void append(Names& names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
}

/// Returns where CUDA's toolkit and its packages put libraries.
Names cuda_folders() {
  return {"",
          "/usr/local/cuda/lib64",
          "/usr/local/cuda*/lib64",
          "/usr/local/cuda*/targets/*/lib",
          "/usr/lib/x86_64-linux-gnu",
          "/usr/lib/aarch64-linux-gnu"};
}

/// Returns the folder of a library already loaded in this process whose file name begins with
/// `stem`; empty if there is none.
std::string folder_of_loaded(const char* stem) {
  struct Search {
    std::string stem, folder;
  } search{stem, ""};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        auto& wanted = *static_cast<Search*>(context);
        const std::filesystem::path path = info->dlpi_name;
        if (path.filename().string().rfind(wanted.stem, 0) != 0) return 0;
        std::error_code ignored;
        wanted.folder = std::filesystem::canonical(path, ignored).parent_path();
        return 1;
      },
      &search);
  return search.folder;
}

}  // namespace

Result<SharedLibrary> open_cuda_library(std::string_view stem, const char* override_variable) {
  LibraryCandidates candidates;
  candidates.role = fmt::format("{} of the CUDA toolkit", stem);
  for (const char* major : {"13", "12", "11"}) {
    candidates.names.push_back(fmt::format("{}.so.{}", stem, major));
  }
  candidates.folders = cuda_folders();
  append(candidates.folders, python_library_folders({"nvidia/cu13/lib", "nvidia/cublas/lib"}));
  candidates.advice =
      "install libcublas-13-x from NVIDIA's apt repository, or: pip install nvidia-cublas";
  apply_override(candidates, override_variable);
  return SharedLibrary::open(candidates);
}

Result<SharedLibrary> open_cudnn_library() {
  LibraryCandidates candidates;
  candidates.role = "cuDNN 9";
  candidates.names = {"libcudnn.so.9"};
  candidates.folders = cuda_folders();
  append(candidates.folders, python_library_folders({"nvidia/cudnn/lib", "nvidia/cu13/lib"}));
  candidates.advice =
      "install cudnn9-cuda-13 from NVIDIA's apt repository, or: pip install nvidia-cudnn-cu13";
  apply_override(candidates, "ASSAY_CUDNN_LIBRARY");
  return SharedLibrary::open(candidates);
}

Result<SharedLibrary> open_cupti_library() {
  LibraryCandidates candidates;
  candidates.role = "CUPTI";
  candidates.names = {"libcupti.so.13", "libcupti.so.12"};
  candidates.folders = cuda_folders();
  append(candidates.folders,
         {"/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda*/extras/CUPTI/lib64"});
  append(candidates.folders, python_library_folders({"nvidia/cu13/lib", "nvidia/cuda_cupti/lib"}));
  candidates.advice =
      "install cuda-cupti-13-x from NVIDIA's apt repository, or: pip install nvidia-cuda-cupti";
  apply_override(candidates, "ASSAY_CUPTI_LIBRARY");
  return SharedLibrary::open(candidates);
}

Result<SharedLibrary> open_rocm_library(std::string_view stem, const char* override_variable) {
  LibraryCandidates candidates;
  candidates.role = fmt::format("{} of ROCm", stem);
  // hipBLASLt has sonames 0 and 1, RCCL and MIOpen 1, rocBLAS 3 (ROCm 5) to 5 (ROCm 7 and 10);
  // PyTorch's wheels strip the number.
  const Names majors = stem == "libhipblaslt"                     ? Names{"1", "0"}
                       : stem == "librccl" || stem == "libMIOpen" ? Names{"1"}
                                                                  : Names{"5", "4", "3"};
  for (const std::string& major : majors) {
    candidates.names.push_back(fmt::format("{}.so.{}", stem, major));
  }
  candidates.names.push_back(fmt::format("{}.so", stem));
  if (const std::string beside = folder_of_loaded("libamdhip64.so"); !beside.empty()) {
    candidates.folders.push_back(beside);
    // TheRock's wheels keep the runtime and the math libraries in two packages.
    candidates.folders.push_back(beside + "/../../_rocm_sdk_libraries*/lib");
  }
  append(candidates.folders, {"", "/opt/rocm/lib", "/opt/rocm/core*/lib", "/opt/rocm-*/lib",
                              "/usr/lib/x86_64-linux-gnu"});
  append(candidates.folders, python_library_folders({"_rocm_sdk_libraries*/lib", "torch/lib"}));
  candidates.advice =
      fmt::format("install {} from AMD's apt repository",
                  stem == "libMIOpen" ? std::string_view("miopen-hip") : stem.substr(3));
  apply_override(candidates, override_variable);
  return SharedLibrary::open(candidates);
}

Result<SharedLibrary> open_onednn_library() {
  LibraryCandidates candidates;
  candidates.role = "oneDNN";
  candidates.names = {"libdnnl.so.3", "libdnnl.so.2"};
  candidates.folders = {"", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                        "/usr/local/lib", "/opt/intel/oneapi/dnnl/latest/lib"};
  candidates.advice = "install it: apt install libdnnl3 (Ubuntu 24.04) or libdnnl2 (Debian 12)";
  apply_override(candidates, "ASSAY_ONEDNN_LIBRARY");
  return SharedLibrary::open(candidates);
}

}  // namespace assay
