#include "core/library_search.h"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "core/environment_value.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Returns prefixes ("/usr", "/opt/venv") under which lib/python3*/site-packages is searched.
std::vector<std::string> python_prefixes() {
  std::vector<std::string> prefixes;
  const auto add = [&](const std::string& prefix) {
    if (prefix.empty() || prefix[0] != '/') return;
    if (std::find(prefixes.begin(), prefixes.end(), prefix) == prefixes.end()) {
      prefixes.push_back(prefix);
    }
  };
  add(environment_value("VIRTUAL_ENV"));
  add(environment_value("CONDA_PREFIX"));
  std::istringstream path(environment_value("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    const std::string python = folder + "/python3";
    if (folder.empty() || ::access(python.c_str(), X_OK) != 0) continue;
    add(fs::path(folder).parent_path());  // a virtual environment's python3 links to one outside
    std::error_code ignored;
    add(fs::canonical(python, ignored).parent_path().parent_path());
    break;
  }
  if (const std::string home = environment_value("HOME"); !home.empty()) add(home + "/.local");
  for (const char* usual : {"/usr/local", "/usr", "/opt/venv", "/opt/conda", "/opt/*/.venv"}) {
    add(usual);
  }
  return prefixes;
}

}  // namespace

void apply_override(LibraryCandidates& candidates, const char* variable) {
  const std::string value = environment_value(variable);
  if (value.empty()) return;
  std::error_code ignored;
  if (fs::is_directory(value, ignored)) {
    // Full paths are used, so that a library of the same name that was loaded from elsewhere does
    // not match.
    for (std::string& name : candidates.names) name = value + "/" + name;
  } else {
    candidates.names = {value};
  }
  candidates.folders = {""};
  candidates.advice =
      fmt::format("{} is set to {}: unset it to search everywhere", variable, value);
}

std::vector<std::string> python_library_folders(std::initializer_list<const char*> subfolders) {
  std::vector<std::string> folders;
  for (const std::string& prefix : python_prefixes()) {
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const char* subfolder : subfolders) {
        folders.push_back(fmt::format("{}/lib/python3*/{}/{}", prefix, packages, subfolder));
      }
    }
  }
  return folders;
}

std::vector<std::string> expand_folders(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> folders;
  if (::glob(pattern.c_str(), GLOB_ONLYDIR | GLOB_NOSORT, nullptr, &found) == 0) {
    folders.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  // GLOB_ONLYDIR is only a hint.
  std::erase_if(folders, [](const std::string& path) {
    std::error_code ignored;
    return !fs::is_directory(path, ignored);
  });
  std::sort(folders.begin(), folders.end(), [](const std::string& a, const std::string& b) {
    return ::strverscmp(a.c_str(), b.c_str()) > 0;
  });
  return folders;
}

std::string file_identity(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return path;
  return fmt::format("{} {} {}.{:09}", path, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

}  // namespace assay
