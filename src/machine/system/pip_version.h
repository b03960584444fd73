// The version of a library that pip installed: its file carries a major number at most, and the
// package's metadata the whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Where the package of the library at `path` has its neighbours, ".../site-packages"; empty if pip
/// did not install it.
std::string packages_folder(std::string_view path);

/// "2.28.9" for ".../nvidia/nccl/lib/libnccl.so.2" and the role "nccl", if `names`, those in the
/// packages folder, hold "nvidia_nccl_cu13-2.28.9.dist-info"; empty if they hold nothing that fits.
std::string pip_version(std::string_view path, std::string_view role,
                        const std::vector<std::string>& names);

}  // namespace assay
