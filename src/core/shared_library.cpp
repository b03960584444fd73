#include "core/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/library_search.h"

namespace assay {
namespace {

std::string real_path(const char* path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path, nullptr), &std::free);
  return resolved ? resolved.get() : path;
}

/// Returns the linker's message, if it says more than that the file does not exist.
std::string problem_of(const std::string& file) {
  const char* text = ::dlerror();
  if (text == nullptr) return {};
  const std::string message = text;
  const bool only_missing = message.rfind(file + ": cannot open shared object file", 0) == 0;
  return only_missing ? std::string() : message;
}

/// Returns the folders for a message, with the many site-packages patterns as one entry.
std::vector<std::string> described(const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    const bool python = folder.find("-packages/") != std::string::npos;
    const std::string name = folder.empty() ? "the dynamic linker's path"
                             : python       ? "Python's site-packages"
                                            : folder;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(const LibraryCandidates& candidates) {
  const auto found = [](void* handle) {
    link_map* map = nullptr;
    const bool known = ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
    return SharedLibrary(handle, known ? real_path(map->l_name) : std::string());
  };
  for (const std::string& name : candidates.names) {
    if (void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD)) return found(handle);
  }
  std::string unusable;  // the first file that exists but does not load
  const auto try_file = [&](const std::string& file) -> void* {
    ::dlerror();
    void* handle = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr && unusable.empty()) unusable = problem_of(file);
    return handle;
  };
  for (const std::string& pattern : candidates.folders) {
    if (pattern.empty()) {
      for (const std::string& name : candidates.names) {
        if (void* handle = try_file(name)) return found(handle);
      }
      continue;
    }
    for (const std::string& folder : expand_folders(pattern)) {
      for (const std::string& name : candidates.names) {
        const std::string file = folder + "/" + name;
        if (::access(file.c_str(), F_OK) != 0) continue;
        if (void* handle = try_file(file)) return found(handle);
      }
    }
  }
  const std::vector<std::string> folders = described(candidates.folders);
  return Error{ErrorKind::unavailable,
               fmt::format("{} not {}: tried {} in {}{}{}{}", candidates.role,
                           unusable.empty() ? "found" : "usable", fmt::join(candidates.names, ", "),
                           fmt::join(folders, ", "), unusable.empty() ? "" : "; " + unusable,
                           candidates.advice.empty() ? "" : "; ", candidates.advice)};
}

void* SharedLibrary::symbol(const char* name) const {
  return ::dlsym(handle_, name);
}

}  // namespace assay
