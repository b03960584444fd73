// Opens a shared library at run time from a list of candidates, and reports where it looked.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

/// Where a library may be. Every file name is tried in every folder, folders in order; an empty
/// folder means the dynamic linker's own search (LD_LIBRARY_PATH, RUNPATH, ld.so.cache).
struct LibraryCandidates {
  std::string role;                  ///< "HIP runtime", for messages
  std::vector<std::string> names;    ///< sonames or paths, newest known version first
  std::vector<std::string> folders;  ///< may hold glob patterns, e.g. "/opt/rocm/core-*/lib"
  std::string advice;                ///< what to install when none is found
};

/// One opened library. Never closed, because GPU runtimes do not survive dlclose().
class SharedLibrary {
 public:
  /// Opens the first candidate that loads. One of `names` that is already loaded in this process is
  /// preferred, because two copies of a GPU runtime crash. Error: unavailable, naming what was
  /// tried, why the first existing file did not load, and the advice.
  static Result<SharedLibrary> open(const LibraryCandidates& candidates);

  /// Returns the file that it was loaded from, without links; empty if the linker does not say.
  const std::string& path() const { return path_; }
  /// Returns the address of a symbol; null if the library has none of this name.
  void* symbol(const char* name) const;

  /// Sets `target` to the first of `names` that exists, else to null; returns whether one did.
  template <typename Function>
  bool bind(Function*& target, std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (void* address = symbol(name)) {
        target = reinterpret_cast<Function*>(address);
        return true;
      }
    }
    target = nullptr;
    return false;
  }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  void* handle_;
  std::string path_;
};

}  // namespace assay
