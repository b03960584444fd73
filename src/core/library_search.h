// Finds folders of vendor libraries: the user's override, and the site-packages of Python
// installations.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/shared_library.h"

namespace assay {

/// If the environment variable `variable` is set, restricts the search to the file that it names,
/// or to the candidates' names in the folder that it names.
void apply_override(LibraryCandidates& candidates, const char* variable);

/// Returns glob patterns of `subfolders` ("nvidia/cu13/lib") in the site-packages of VIRTUAL_ENV,
/// CONDA_PREFIX, the python3 on PATH, the user, and common locations in containers. Nothing is run
/// and no folder is read.
std::vector<std::string> python_library_folders(std::initializer_list<const char*> subfolders);

/// Returns the existing folders that match a glob pattern, highest version number first.
std::vector<std::string> expand_folders(const std::string& pattern);

/// Returns path, size and modification time of a file, which change whenever the content may have
/// changed.
std::string file_identity(const std::string& path);

}  // namespace assay
