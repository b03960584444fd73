// The folder in which assay stores disposable data: compiled kernels and measured choices.
#pragma once

#include <string>

namespace assay {

/// Returns $XDG_CACHE_HOME/assay, else $HOME/.cache/assay; empty if both variables are unset or
/// empty. Does not create the folder.
std::string cache_folder();

}  // namespace assay
