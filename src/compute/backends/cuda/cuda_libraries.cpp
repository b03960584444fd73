#include "compute/backends/cuda/cuda_libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/library_search.h"

namespace assay::cuda {
namespace {

/// Returns where the driver's own libraries may be: the distribution's folder, WSL, container
/// mounts, NixOS.
std::vector<std::string> driver_folders() {
  return {"",
          "/usr/lib/wsl/lib",
          "/usr/lib/x86_64-linux-gnu",
          "/usr/lib/aarch64-linux-gnu",
          "/usr/lib64",
          "/usr/local/nvidia/lib64",
          "/run/opengl-driver/lib"};
}

}  // namespace

LibraryCandidates driver_candidates() {
  LibraryCandidates candidates{"CUDA driver",
                               {"libcuda.so.1"},
                               driver_folders(),
                               "install NVIDIA's driver (in a container: run it with --gpus all)"};
  apply_override(candidates, "ASSAY_CUDA_LIBRARY");
  return candidates;
}

LibraryCandidates nvml_candidates() {
  return {"NVML", {"libnvidia-ml.so.1"}, driver_folders(), "it comes with NVIDIA's driver"};
}

LibraryCandidates nvrtc_candidates(int driver_version) {
  const int own = driver_version / 1000;
  std::vector<int> majors = {13, 12, 11};
  if (std::find(majors.begin(), majors.end(), own) == majors.end()) majors.push_back(own);
  // The order is: the driver's major version, then older ones (newest first), then newer ones
  // (oldest first).
  std::sort(majors.begin(), majors.end(), [&](int a, int b) {
    if ((a <= own) != (b <= own)) return a <= own;
    return a <= own ? a > b : a < b;
  });
  LibraryCandidates candidates{"NVRTC",
                               {},
                               {"", "/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64"},
                               "install the CUDA toolkit's NVRTC (apt: cuda-nvrtc-13-0, or pip: "
                               "nvidia-cuda-nvrtc)"};
  for (const int major : majors) {
    // The first releases of CUDA 11 had the minor version in the name; since 11.2 the name has
    // stayed 11.2.
    candidates.names.push_back(fmt::format("libnvrtc.so.{}{}", major, major == 11 ? ".2" : ""));
  }
  for (std::string& folder : python_library_folders({"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"})) {
    candidates.folders.push_back(std::move(folder));
  }
  apply_override(candidates, "ASSAY_NVRTC_LIBRARY");
  return candidates;
}

void preload_nvrtc_builtins(const std::string& nvrtc_path, int major, int minor) {
  const std::string folder = std::filesystem::path(nvrtc_path).parent_path();
  const std::string name = fmt::format("{}/libnvrtc-builtins.so.{}.{}", folder, major, minor);
  // If the library is missing, NVRTC's own search may still succeed; if not, NVRTC's error explains
  // it.
  static_cast<void>(SharedLibrary::open({"NVRTC builtins", {name}, {""}, ""}));
}

}  // namespace assay::cuda
