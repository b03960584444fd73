// Lists the runtimes, BLAS, collective and network libraries that this process can find, by file
// name; none is loaded. Two HIP runtimes on the search path will sooner or later fail, and which
// NCCL a framework finds explains many differences.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/input_file.h"
#include "core/json.h"
#include "core/library_search.h"
#include "machine/system/pip_version.h"
#include "machine/system/probe.h"

namespace assay::library_probe {
namespace {

namespace fs = std::filesystem;

struct Role {
  const char* name;
  const char* stem;
};
constexpr std::array<Role, 19> roles = {{{"hip", "libamdhip64"},
                                         {"hiprtc", "libhiprtc"},
                                         {"hsa", "libhsa-runtime64"},
                                         {"rocblas", "librocblas"},
                                         {"hipblaslt", "libhipblaslt"},
                                         {"miopen", "libMIOpen"},
                                         {"rccl", "librccl"},
                                         {"cuda", "libcuda"},
                                         {"cudart", "libcudart"},
                                         {"nvml", "libnvidia-ml"},
                                         {"nvrtc", "libnvrtc"},
                                         {"cublas", "libcublas"},
                                         {"cublaslt", "libcublasLt"},
                                         {"cudnn", "libcudnn"},
                                         {"nccl", "libnccl"},
                                         {"onednn", "libdnnl"},
                                         {"verbs", "libibverbs"},
                                         {"mpi", "libmpi"},
                                         {"ucx", "libucp"}}};

/// Adds the folders named in /etc/ld.so.conf and /etc/ld.so.conf.d, as patterns.
void add_linker_folders(std::vector<std::string>& folders) {
  std::vector<std::string> files = {"/etc/ld.so.conf"};
  if (const auto named = list_folder("/etc/ld.so.conf.d"); named.ok()) {
    for (const fs::path& file : *named) files.push_back(file.string());
  }
  for (const std::string& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('/')) folders.push_back(line);
    }
  }
}

/// Returns folders in search order: the dynamic linker's first, then the vendors' default folders.
std::vector<std::string> folders_in_reach() {
  std::vector<std::string> patterns;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    std::istringstream parts(path);
    for (std::string folder; std::getline(parts, folder, ':');) {
      if (folder.starts_with('/')) patterns.push_back(folder);
    }
  }
  add_linker_folders(patterns);
  for (const char* usual :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64", "/usr/lib", "/usr/local/lib", "/usr/lib/wsl/lib", "/usr/local/nvidia/lib64",
        "/opt/rocm/lib", "/opt/rocm/core/lib", "/opt/rocm/core-*/lib", "/opt/rocm-*/lib",
        "/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64", "/opt/amazon/openmpi/lib*"}) {
    patterns.emplace_back(usual);
  }
  for (std::string& folder : python_library_folders(
           {"torch/lib", "_rocm_sdk_core/lib", "_rocm_sdk_libraries*/lib", "nvidia/cu13/lib",
            "nvidia/cuda_nvrtc/lib", "nvidia/cuda_runtime/lib", "nvidia/cublas/lib",
            "nvidia/cudnn/lib", "nvidia/nccl/lib"})) {
    patterns.push_back(std::move(folder));
  }
  return patterns;
}

/// Returns "2.27.7" for "libnccl.so.2.27.7"; empty if the name has no number.
std::string version_of(const std::string& file, std::size_t stem_length) {
  constexpr std::string_view marker = ".so.";
  return file.compare(stem_length, marker.size(), marker) == 0
             ? file.substr(stem_length + marker.size())
             : std::string();
}

/// Returns the version in the file's name; if that is at most a major number, the package's
/// version.
std::string best_version(const fs::path& real, const Role& role) {
  const std::string version =
      version_of(real.filename().string(), std::string_view(role.stem).size());
  const std::string folder = packages_folder(real.string());
  if (version.find('.') != std::string::npos || folder.empty()) return version;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  const std::string package = pip_version(real.string(), role.name, names);
  return package.empty() ? version : package;
}

/// Returns {"nccl": [{"path": "/usr/lib/.../libnccl.so.2.28.9", "version": "2.28.9"}]}; links to
/// the same file are listed once.
Json ask_libraries() {
  Json found = Json::object();
  std::set<std::string> seen;
  for (const std::string& pattern : folders_in_reach()) {
    for (const std::string& folder : expand_folders(pattern)) {
      if (!seen.insert(folder).second) continue;
      std::error_code error;
      std::vector<std::string> files;
      for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
           entry.increment(error)) {
        std::string name = entry->path().filename().string();
        if (name.starts_with("lib")) files.push_back(std::move(name));
      }
      std::sort(files.begin(), files.end());
      for (const std::string& file : files) {
        for (const Role& role : roles) {
          const std::string stem = role.stem;
          if (!file.starts_with(stem) || file.compare(stem.size(), 3, ".so") != 0) continue;
          const fs::path real = fs::canonical(fs::path(folder) / file, error);
          if (error || !seen.insert(real.string()).second) continue;
          Json library = {{"path", real.string()}};
          const std::string version = best_version(real, role);
          if (!version.empty()) library["version"] = version;
          found[role.name].push_back(std::move(library));
        }
      }
    }
  }
  return found;
}

const ProbeRegistry::Add registered{{"libraries", &ask_libraries}};

}  // namespace
}  // namespace assay::library_probe
