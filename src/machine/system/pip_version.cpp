#include "machine/system/pip_version.h"

#include <algorithm>
#include <array>
#include <utility>

namespace assay {
namespace {

/// Since CUDA 13 one folder, nvidia/cu13, holds the libraries of many packages.
bool is_shared(std::string_view inside) {
  return inside.starts_with("nvidia/cu1");
}

/// Returns the pip package that contains the library, without the suffix for a CUDA release.
std::string package_of(std::string_view inside, std::string_view role) {
  constexpr std::string_view vendor = "nvidia/";
  if (!inside.starts_with(vendor)) return std::string(inside.substr(0, inside.find('/')));
  if (!is_shared(inside)) {
    inside.remove_prefix(vendor.size());
    return "nvidia_" + std::string(inside.substr(0, inside.find('/')));
  }
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

struct Installed {
  std::string release;  ///< of CUDA: "12"; empty: the package's name says none
  std::string version;
};

/// Returns the release of CUDA that the library is for, as its path tells: that of the folder
/// "nvidia/cu13", else the major number of the file, which is CUDA's for most libraries.
std::string release_of(std::string_view inside) {
  constexpr std::string_view file = ".so.";
  std::size_t at = inside.rfind(file);
  if (is_shared(inside)) {
    at = std::string_view("nvidia/cu").size();
  } else if (at == std::string_view::npos) {
    return {};
  } else {
    at += file.size();
  }
  const std::size_t end = std::min(inside.find_first_not_of("0123456789", at), inside.size());
  return std::string(inside.substr(at, end - at));
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
  const std::string release = release_of(path.substr(folder + 1));
  std::vector<Installed> found;
  for (const std::string& name : names) {
    if (!name.starts_with(package) || !name.ends_with(metadata)) continue;
    const std::size_t dash = name.find('-', package.size());
    if (dash == std::string::npos) continue;
    const std::string_view suffix =
        std::string_view(name).substr(package.size(), dash - package.size());
    const bool of_release = suffix.starts_with("_cu") && suffix.size() > 3 &&
                            suffix.find_first_not_of("0123456789", 3) == std::string_view::npos;
    if (!suffix.empty() && !of_release) continue;
    found.push_back({std::string(suffix.substr(std::min<std::size_t>(suffix.size(), 3))),
                     name.substr(dash + 1, name.size() - metadata.size() - dash - 1)});
  }
  // Packages for several releases of CUDA may be installed, and some write into one folder.
  // Packages whose names say the library's release come first. The names of packages with the
  // shared folder say none.
  const auto keep_if = [&](const auto& fits) {
    if (std::ranges::any_of(found, fits)) {
      std::erase_if(found, [&](const Installed& one) { return !fits(one); });
    }
  };
  keep_if([&](const Installed& one) { return !release.empty() && one.release == release; });
  const bool shared = is_shared(path.substr(folder + 1));
  keep_if([&](const Installed& one) { return one.release.empty() == shared; });
  const auto same = [&](const Installed& one) { return one.version == found.front().version; };
  return !found.empty() && std::ranges::all_of(found, same) ? found.front().version : "";
}

}  // namespace assay
