// A capture: everything that was read from a machine, in one JSON file. It can be reviewed before
// it is shared, and opened elsewhere in place of that machine.
#pragma once

#include <filesystem>
#include <memory>

#include "core/mutex.h"
#include "core/result.h"
#include "machine/system/machine.h"

namespace assay {

/// Forwards every call to `machine`, which must outlive it, and records the answers. Several
/// threads may use it.
class RecordingMachine final : public Machine {
 public:
  explicit RecordingMachine(const Machine& machine) : machine_(machine) {}
  FileText read(const std::filesystem::path& path) const override;
  std::vector<std::string> list(const std::filesystem::path& folder) const override;
  std::filesystem::path resolve(const std::filesystem::path& path) const override;
  FileState access(const std::filesystem::path& path) const override;
  const Variables& variables() const override { return machine_.variables(); }
  Json ask(std::string_view probe) const override;

  /// Returns what was read so far, for machine_from_capture(). Serial numbers, UUIDs, hardware
  /// addresses and the host name are masked (anonymize_capture.h) unless `with_serials`; secrets
  /// always are.
  Json capture(bool with_serials) const;

 private:
  const Machine& machine_;
  mutable Mutex mutex_;
  mutable std::map<std::string, FileText, std::less<>> files_ GUARDED_BY(mutex_);
  mutable std::map<std::string, std::vector<std::string>, std::less<>> folders_ GUARDED_BY(mutex_);
  mutable std::map<std::string, std::string, std::less<>> links_ GUARDED_BY(mutex_);
  mutable std::map<std::string, FileState, std::less<>> access_ GUARDED_BY(mutex_);
  mutable std::map<std::string, Json, std::less<>> answers_ GUARDED_BY(mutex_);
};

/// Error: usage, naming the field, if `json` is not a capture. Its contents are not trusted.
Result<std::unique_ptr<Machine>> machine_from_capture(const Json& json);

/// Opens the machine described by `path`: a file (a capture) or a folder (a copy of its files).
/// Error: as read_operand() (core/read_file.h); usage, naming the path and what is wrong with it.
Result<std::unique_ptr<Machine>> open_machine(const std::filesystem::path& path);

/// Error: as write_file() (core/write_file.h).
Status write_capture(const Json& capture, const std::filesystem::path& path);

}  // namespace assay
