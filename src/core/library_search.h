// Where vendor libraries hide: the user's override, and the site-packages of Python installations.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/shared_library.h"

namespace assay {

/// If the environment variable `variable` is set, makes the file it names, or the candidates' names
/// in the folder it names, the only places tried.
void apply_override(LibraryCandidates& candidates, const char* variable);

/// Glob patterns of `subfolders` ("nvidia/cu13/lib") in the site-packages of VIRTUAL_ENV,
/// CONDA_PREFIX, the python3 on PATH, the user, and the usual places of containers. Nothing is run
/// and no folder is read.
std::vector<std::string> python_library_folders(std::initializer_list<const char*> subfolders);

/// The folders a glob pattern names that exist, the highest version number first.
std::vector<std::string> expand_folders(const std::string& pattern);

/// Path, size and time of change of a file: differs whenever its content may.
std::string file_identity(const std::string& path);

}  // namespace assay
