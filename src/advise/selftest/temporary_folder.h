// A folder for what a check writes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/result.h"

namespace assay::selftest {

/// A new folder in TMPDIR or /tmp. It is removed, with all that it holds, when its owner is
/// destroyed.
class TemporaryFolder {
 public:
  /// Error: unavailable if it cannot be created.
  static Result<TemporaryFolder> create() {
    std::error_code problem;
    const std::filesystem::path all = std::filesystem::temp_directory_path(problem);
    std::string path = (all / "assay-selftest-XXXXXX").string();
    if (problem || ::mkdtemp(path.data()) == nullptr) {
      return Error{ErrorKind::unavailable, "no folder for temporary files can be written"};
    }
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace assay::selftest
