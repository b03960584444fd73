// Finds the version of a library installed by pip. Its file name has at most a major number,
// whereas the package's metadata has the full version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Returns the folder that holds the package of the library at `path` and the other packages,
/// ".../site-packages"; empty if pip did not install it.
std::string packages_folder(std::string_view path);

/// Returns "2.28.9" for ".../nvidia/nccl/lib/libnccl.so.2" and the role "nccl", if `names`, the
/// entries of the packages folder, contain "nvidia_nccl_cu13-2.28.9.dist-info"; empty if none
/// matches.
std::string pip_version(std::string_view path, std::string_view role,
                        const std::vector<std::string>& names);

}  // namespace assay
