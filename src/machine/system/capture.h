// A capture: everything that was read of a machine, in one JSON file that can be looked through
// before it is handed on, and opened elsewhere as that machine.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>

#include "core/result.h"
#include "machine/system/machine.h"

namespace assay {

/// Passes everything on to `machine`, which must outlive it, and remembers it.
class RecordingMachine final : public Machine {
 public:
  explicit RecordingMachine(const Machine& machine) : machine_(machine) {}
  FileText read(const std::filesystem::path& path) const override;
  std::vector<std::string> list(const std::filesystem::path& folder) const override;
  std::filesystem::path resolve(const std::filesystem::path& path) const override;
  FileState access(const std::filesystem::path& path) const override;
  const Variables& variables() const override { return machine_.variables(); }
  Json ask(std::string_view probe) const override;

  /// What was read so far, for machine_from_capture(). Serial numbers, UUIDs, hardware addresses
  /// and the host's name are masked (masking.h) unless `with_serials`; secrets always are.
  Json capture(bool with_serials) const;

 private:
  const Machine& machine_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, FileText, std::less<>> files_;
  mutable std::map<std::string, std::vector<std::string>, std::less<>> folders_;
  mutable std::map<std::string, std::string, std::less<>> links_;
  mutable std::map<std::string, FileState, std::less<>> access_;
  mutable std::map<std::string, Json, std::less<>> answers_;
};

/// Error: usage, if `json` is no capture, naming the field. Its contents are not trusted.
Result<std::unique_ptr<Machine>> machine_from_capture(const Json& json);

/// The machine that the file (a capture) or folder (a copy of its files) at `path` describes.
/// Error: usage, naming the path and what is wrong with it.
Result<std::unique_ptr<Machine>> open_machine(const std::filesystem::path& path);

/// Error: exhausted or failed, naming the path.
Status write_capture(const Json& capture, const std::filesystem::path& path);

}  // namespace assay
