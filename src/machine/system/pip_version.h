// Finds the version of the Python package that contains a library. The library's file name often
// has only a major number, whereas the package's metadata (NAME-VERSION.dist-info) has the full
// version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Returns the part of a library's path that leads to the folder of all Python packages,
/// ".../site-packages" or ".../dist-packages"; empty if the path has no such part.
std::string packages_folder(std::string_view path);

/// Returns the version of the package that contains the library at `path`. `names` are the entries
/// of packages_folder(path). If they contain "nvidia_nccl_cu13-2.28.9.dist-info", the result is
/// "2.28.9" for ".../nvidia/nccl/lib/libnccl.so.2". Empty if no entry matches, if
/// packages for several releases of CUDA match and have different versions, or if the package is
/// unknown.
///
/// It is not always the library's own version: for ".../torch/lib/librccl.so" it is that of torch.
/// `role` is the library's name in fingerprints: "nccl", "cudart". It selects the package of a
/// library in a folder such as nvidia/cu13, which many packages share.
std::string pip_version(std::string_view path, std::string_view role,
                        const std::vector<std::string>& names);

}  // namespace assay
