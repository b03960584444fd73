// One machine as assay reads it: its files (sysfs, procfs, /etc), its environment variables, and
// the few facts that need calls. All code that describes or judges a machine reads it through this
// interface. So it works the same on this machine, on a folder with a copy of another machine's
// files, and on a capture (capture.h).
//
// Paths are written without the leading slash, "sys/class/drm". Nothing here returns an error,
// because a machine may always withhold a file; the state tells why.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.h"

namespace assay {

enum class FileState {
  found,
  missing,
  denied,  ///< exists, but this user may not read it
  failed,  ///< opening or reading gives another error: drivers return EINVAL for "not supported";
           ///< or the file is larger than 4 MiB
  not_captured,  ///< not in the capture: nothing read it when the capture was taken
};

struct FileText {
  FileState state = FileState::missing;
  std::string text;  ///< all bytes of the file; empty unless found
};

using Variables = std::map<std::string, std::string, std::less<>>;

class Machine {
 public:
  virtual ~Machine() = default;

  virtual FileText read(const std::filesystem::path& path) const = 0;
  /// Returns names in a folder, sorted; empty if it cannot be listed.
  virtual std::vector<std::string> list(const std::filesystem::path& folder) const = 0;
  /// Returns the real path with every link in `path` followed; empty if it does not exist.
  virtual std::filesystem::path resolve(const std::filesystem::path& path) const = 0;
  /// Returns `found` if this user may read and write a device file, else why not.
  virtual FileState access(const std::filesystem::path& path) const = 0;

  /// Returns the environment variables that affect performance, with values that may be recorded
  /// (recordable_settings.h).
  virtual const Variables& variables() const = 0;
  /// Returns the answer of the Probe (probe.h) of that name; null if there is none.
  virtual Json ask(std::string_view probe) const = 0;

  bool exists(const std::filesystem::path& path) const { return !resolve(path).empty(); }
  bool has_variable(std::string_view name) const {
    return variables().find(name) != variables().end();
  }
};

/// A folder that holds a copy of a machine's files, such as a support archive. It has no variables,
/// no answers and no device files (access() is not_captured); links that lead out of it do not
/// resolve. `root` may be "/" to read only this machine's files, device files included.
class FolderMachine : public Machine {
 public:
  explicit FolderMachine(std::filesystem::path root) : root_(std::move(root)) {}
  FileText read(const std::filesystem::path& path) const override;
  std::vector<std::string> list(const std::filesystem::path& folder) const override;
  std::filesystem::path resolve(const std::filesystem::path& path) const override;
  FileState access(const std::filesystem::path& path) const override;
  const Variables& variables() const override;
  Json ask(std::string_view probe) const override;

 private:
  /// Returns the file's real path; empty if it is outside the root and so not a file of that
  /// machine.
  std::optional<std::filesystem::path> place(const std::filesystem::path& path) const;

  std::filesystem::path root_;
};

/// Returns the machine that this process runs on. Several threads may use it.
const Machine& this_machine();

}  // namespace assay
