// Where assay stores disposable data: compiled kernels, launch geometries.
#pragma once

#include <string>

namespace assay {

/// $XDG_CACHE_HOME/assay, else ~/.cache/assay; empty if neither variable is set. Not created here.
std::string cache_folder();

}  // namespace assay
