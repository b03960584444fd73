// The folder in which assay stores disposable data: compiled kernels, launch geometries.
#pragma once

#include <string>

namespace assay {

/// Returns $XDG_CACHE_HOME/assay, else ~/.cache/assay; empty if neither variable is set. Does not
/// create the folder.
std::string cache_folder();

}  // namespace assay
