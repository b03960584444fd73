// Finds folders of vendor libraries: the user's override, and the site-packages of Python
// installations.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/shared_library.h"

namespace assay {

/// If the environment variable `variable` is set and not empty, restricts the search to the file
/// that it names, or to the candidates' names in the folder that it names. `candidates.advice` then
/// says so.
void apply_override(LibraryCandidates& candidates, const char* variable);

/// Returns glob patterns of `subfolders` ("nvidia/cu13/lib") in the site-packages of VIRTUAL_ENV,
/// CONDA_PREFIX, the python3 on PATH, the user (~/.local), and common locations in containers.
/// Nothing is run and no folder is read; expand_folders() does that.
std::vector<std::string> python_library_folders(std::initializer_list<const char*> subfolders);

/// Returns the existing folders that match a glob pattern, in descending order; numbers in their
/// names are compared as numbers, so that the highest version comes first.
std::vector<std::string> expand_folders(const std::string& pattern);

/// Returns path, size and modification time of a file as one text, which changes if the file is
/// replaced or written; only the path if there is no such file.
std::string file_identity(const std::string& path);

}  // namespace assay
