// Where to look for vendor libraries: the user's override, and the site-packages of Python
// installations.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/shared_library.h"

namespace assay {

/// If the environment variable `variable` is set, restricts the search to the file it names, or to
/// the candidates' names in the folder it names.
void apply_override(LibraryCandidates& candidates, const char* variable);

/// Glob patterns of `subfolders` ("nvidia/cu13/lib") in the site-packages of VIRTUAL_ENV,
/// CONDA_PREFIX, the python3 on PATH, the user, and the usual places of containers. Nothing is run
/// and no folder is read.
std::vector<std::string> python_library_folders(std::initializer_list<const char*> subfolders);

/// The existing folders that match a glob pattern, highest version number first.
std::vector<std::string> expand_folders(const std::string& pattern);

/// Path, size and time of change of a file: changes whenever the content may have changed.
std::string file_identity(const std::string& path);

}  // namespace assay
