// Support for tests of missing permissions, which do not exist for root.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace assay {

/// While it lives, the process is not root: root becomes a user without privileges, who owns
/// `folder` and everything in it. Programs started meanwhile run as that user, too.
class Unprivileged {
 public:
  explicit Unprivileged(const std::filesystem::path& folder) : was_root_(::geteuid() == 0) {
    if (!was_root_) return;
    std::error_code ignored;
    ::lchown(folder.c_str(), nobody, nobody);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
      ::lchown(entry.path().c_str(), nobody, nobody);
    }
    if (::seteuid(nobody) != 0) problem_ = "this process may not give up the rights of root";
    if (::eaccess(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
      problem_ = "users other than root cannot reach " + folder.string();
    }
  }
  ~Unprivileged() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

  /// Returns why it did not work; empty if it did.
  const std::string& problem() const { return problem_; }

 private:
  static constexpr uid_t nobody = 65534;
  const bool was_root_;
  std::string problem_;
};

}  // namespace assay
