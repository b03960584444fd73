// Sets CPU sets, CPU quotas and memory limits for one process, by whatever means this machine
// allows: control groups, systemd, or the kernel's per-process limits.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "ranks/environments/environment.h"

namespace assay {

/// Control groups created for one process. The destructor removes them; the process must have ended
/// before, or they stay.
class ControlGroups {
 public:
  ControlGroups() = default;
  ControlGroups(ControlGroups&& other) noexcept;
  ControlGroups& operator=(ControlGroups&& other) noexcept;
  ~ControlGroups();

  /// `name` becomes that of the groups' folders. Error: unavailable, naming the folder or file that
  /// cannot be written and why.
  static Result<ControlGroups> make(const ResourceLimits& limits, const std::string& name);
  /// Returns the files into which a process writes its id to join the groups.
  std::vector<std::string> process_files() const;

 private:
  /// Makes a folder and writes its files: names and texts.
  Status add(const std::filesystem::path& folder,
             const std::vector<std::pair<std::string, std::string>>& settings);

  std::vector<std::filesystem::path> folders_;
};

/// How to limit a process. The caller applies every member that is not empty or 0.
struct AppliedLimits {
  ControlGroups groups;
  std::vector<std::string> prefix;        ///< arguments before the program's: systemd-run
  std::vector<int> cpus;                  ///< CPU affinity
  std::uint64_t address_space_bytes = 0;  ///< RLIMIT_AS, in place of a limit of memory
  std::string how;  ///< "control groups", "systemd-run", ...; empty: no limits
};

/// Chooses the first method that works here: control groups, systemd-run, or affinity and a limit
/// of address space. `name` must be unique on this machine. Error: unavailable for a CPU quota, for
/// which the last method has no means.
Result<AppliedLimits> apply_limits(const ResourceLimits& limits, const std::string& name);

}  // namespace assay
