#include "machine/system/pip_version.h"

#include <array>
#include <utility>

namespace assay {
namespace {

/// Returns the pip package that contains the library, without the suffix for a CUDA release.
std::string package_of(std::string_view inside, std::string_view role) {
  constexpr std::string_view vendor = "nvidia/";
  if (!inside.starts_with(vendor)) return std::string(inside.substr(0, inside.find('/')));
  inside.remove_prefix(vendor.size());
  const std::string_view part = inside.substr(0, inside.find('/'));
  if (!part.starts_with("cu1")) return "nvidia_" + std::string(part);
  // Since CUDA 13 one folder, cu13, holds the libraries of many packages.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> packages = {
      {{"cublas", "nvidia_cublas"},
       {"cublaslt", "nvidia_cublas"},
       {"cudart", "nvidia_cuda_runtime"},
       {"nvrtc", "nvidia_cuda_nvrtc"}}};
  for (const auto& [known, package] : packages) {
    if (known == role) return std::string(package);
  }
  return {};
}

}  // namespace

std::string packages_folder(std::string_view path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.find(folder);
    if (at != std::string_view::npos) return std::string(path.substr(0, at + folder.size() - 1));
  }
  return {};
}

std::string pip_version(std::string_view path, std::string_view role,
                        const std::vector<std::string>& names) {
  constexpr std::string_view metadata = ".dist-info";
  const std::size_t folder = packages_folder(path).size();
  if (folder == 0) return {};
  const std::string package = package_of(path.substr(folder + 1), role);
  if (package.empty()) return {};
  for (const std::string& name : names) {
    if (!name.starts_with(package) || !name.ends_with(metadata)) continue;
    const std::size_t dash = name.find('-', package.size());
    if (dash == std::string::npos) continue;
    const std::string_view suffix =
        std::string_view(name).substr(package.size(), dash - package.size());
    const bool of_release = suffix.starts_with("_cu") &&
                            suffix.find_first_not_of("0123456789", 3) == std::string_view::npos;
    if (!suffix.empty() && !of_release) continue;
    return name.substr(dash + 1, name.size() - metadata.size() - dash - 1);
  }
  return {};
}

}  // namespace assay
