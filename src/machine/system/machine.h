// One machine as assay reads it: its files (sysfs, procfs, /etc), its environment variables, and
// the few facts that only calls give. Everything that describes or judges a machine reads it
// through this interface, so that it works the same on this machine, on a folder holding a copy of
// another one's files, and on a capture (capture.h).
//
// Paths are written without the leading slash, "sys/class/drm". Nothing here fails loudly: a
// machine that withholds a file is normal, and the state says why.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace assay {

enum class FileState {
  found,
  missing,
  denied,  ///< exists, and this user may not read it
  failed,  ///< opening or reading gives another error: drivers answer EINVAL for "not supported"
  not_captured,  ///< the capture does not say: nothing asked for it when it was taken
};

struct FileText {
  FileState state = FileState::missing;
  std::string text;  ///< every byte of it; empty unless found
};

using Variables = std::map<std::string, std::string, std::less<>>;

class Machine {
 public:
  virtual ~Machine() = default;

  virtual FileText read(const std::filesystem::path& path) const = 0;
  /// Names in a folder, sorted; empty if it cannot be listed.
  virtual std::vector<std::string> list(const std::filesystem::path& folder) const = 0;
  /// Where `path` really lies once every link in it is followed; empty if it does not exist.
  virtual std::filesystem::path resolve(const std::filesystem::path& path) const = 0;
  /// Whether this user may read and write it, for device files: found, missing or denied.
  virtual FileState access(const std::filesystem::path& path) const = 0;

  /// The environment variables that bear on performance (variables.h); values of secrets are
  /// hidden.
  virtual const Variables& variables() const = 0;
  /// What only calls can tell, by the name of a Probe (probe.h); null where nobody can say.
  virtual Json ask(std::string_view probe) const = 0;

  bool exists(const std::filesystem::path& path) const { return !resolve(path).empty(); }
  bool has_variable(std::string_view name) const {
    return variables().find(name) != variables().end();
  }
};

/// A folder that holds a copy of a machine's files, as a support archive does. No variables, no
/// answers, no device files; links that lead out of it lead nowhere. `root` may be "/" to read this
/// machine's files alone.
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
  /// The file's real place; empty if that is outside the root: it is then no file of that machine.
  std::optional<std::filesystem::path> place(const std::filesystem::path& path) const;

  std::filesystem::path root_;
};

/// The machine this process runs on.
const Machine& this_machine();

}  // namespace assay
