#include "machine/system/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/json.h"
#include "core/mutex.h"
#include "core/read_file.h"
#include "machine/system/probe.h"
#include "machine/system/recordable_settings.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Far longer than any file that describes a machine.
constexpr std::size_t longest_file = 4 << 20;

FileState state_of(int error) {
  if (error == ENOENT || error == ENOTDIR) return FileState::missing;
  return error == EACCES || error == EPERM ? FileState::denied : FileState::failed;
}

FileText read_whole(const fs::path& path) {
  FileBytes bytes = read_bytes(path, longest_file);
  if (bytes.error != 0) return {state_of(bytes.error), {}};
  return {FileState::found, std::move(bytes.text)};
}

/// FolderMachine on "/", plus what only a running system has.
class ThisMachine final : public FolderMachine {
 public:
  ThisMachine() : FolderMachine("/"), variables_(performance_variables()) {}
  const Variables& variables() const override { return variables_; }

  Json ask(std::string_view name) const override {
    const MutexLock lock(mutex_);
    const auto known = answers_.find(name);
    if (known != answers_.end()) return known->second;
    Json answer;
    for (const Probe& probe : ProbeRegistry::entries()) {
      if (probe.name == name) answer = probe.ask();
    }
    return answers_.emplace(name, std::move(answer)).first->second;
  }

 private:
  Variables variables_;
  mutable Mutex mutex_;
  mutable std::map<std::string, Json, std::less<>> answers_ GUARDED_BY(mutex_);
};

}  // namespace

std::optional<fs::path> FolderMachine::place(const fs::path& path) const {
  if (root_ == "/") return root_ / path;
  const fs::path inside = resolve(path);
  if (inside.empty()) return std::nullopt;
  return root_ / inside;
}

FileText FolderMachine::read(const fs::path& path) const {
  const auto real = place(path);
  return real ? read_whole(*real) : FileText{};
}

std::vector<std::string> FolderMachine::list(const fs::path& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  const auto real = place(folder);
  if (!real) return names;
  for (fs::directory_iterator entry(*real, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

fs::path FolderMachine::resolve(const fs::path& path) const {
  std::error_code error;
  const fs::path real = fs::canonical(root_ / path, error);
  if (error) return {};
  const fs::path top = fs::canonical(root_, error);
  const fs::path inside = real.lexically_relative(top);
  // A link that leads out of a copied folder points into this machine, not the copied one.
  if (inside.empty() || *inside.begin() == "..") return {};
  return inside;
}

FileState FolderMachine::access(const fs::path& path) const {
  if (root_ != "/") return FileState::not_captured;  // a copy has no device files
  if (::access((root_ / path).c_str(), R_OK | W_OK) == 0) return FileState::found;
  return state_of(errno == EROFS ? EACCES : errno);
}

const Variables& FolderMachine::variables() const {
  static const Variables none;
  return none;
}

Json FolderMachine::ask(std::string_view) const {
  return {};
}

const Machine& this_machine() {
  static const ThisMachine machine;
  return machine;
}

}  // namespace assay
