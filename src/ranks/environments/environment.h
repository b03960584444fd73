// The environment in which a unit's process (one process of a campaign) runs. A kind of environment
// turns "assay run ..." into the command that starts it there. A new kind is one file in kinds/
// that ends in
//   const EnvironmentKindRegistry::Add registered{{...}};
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/registry.h"
#include "core/result.h"
#include "core/yaml_text.h"

namespace assay {

/// How much of the machine a process may use.
struct ResourceLimits {
  std::vector<int> cpus;            ///< CPUs it may run on; empty: all
  std::optional<double> cpu_quota;  ///< CPU seconds per second, 0.1: a tenth of a CPU; empty: all
  std::optional<std::uint64_t> memory_bytes;  ///< empty: all
  bool any() const { return !cpus.empty() || cpu_quota || memory_bytes; }
};

/// What a container needs to use the machine's GPUs.
struct GpuAccess {
  bool amd = false, nvidia = false;
  std::vector<std::string> amd_files;  ///< indexed by GPU: "/dev/dri/renderD128"
  std::vector<std::string> groups;     ///< groups that own AMD's device files, as numbers
};

/// Returns the access to this machine's GPUs.
GpuAccess gpu_access();

struct LaunchContext {
  std::string binary;       ///< path of assay on the machine where it runs; "~/..." on a remote one
  std::string environment;  ///< the environment's name in the campaign
  std::string unit;         ///< name for resources that exist only during one unit
  std::filesystem::path folder;   ///< the campaign's folder, absolute
  std::string cache;              ///< assay's cache folder, absolute; empty: none
  std::optional<GpuAccess> gpus;  ///< GPUs of the machine it runs on; empty: unknown
  double answer_seconds = 60;     ///< within which another machine must answer its first question
};

/// How to start one process.
struct Launch {
  std::vector<std::string> words;  ///< the program and its arguments
  /// Names and values that are added to the environment variables of this process.
  std::vector<std::pair<std::string, std::string>> variables;
  std::string input;  ///< its standard input, which unlike arguments is hidden from other users
  /// It starts several ranks that have no common secret unless ASSAY_TOKEN is among its variables.
  bool needs_token = false;
  ResourceLimits limits;  ///< limits that assay must apply
  std::vector<std::pair<std::filesystem::path, std::string>>
      files;                         ///< paths and texts of files to write first
  std::vector<std::string> cleanup;  ///< command that cleans up after a killed process
};

/// A derived class implements launch(), and the others where it needs them. Several threads may
/// call launch() at once, for units that run at the same time.
class Environment {
 public:
  virtual ~Environment() = default;
  /// Checks requirements, copies assay to another machine, or requests machines, which may take an
  /// hour (kinds/dstack.cpp). Called once before the first unit. Error: unavailable, naming what is
  /// missing; file, if a file cannot be written; as read_operand() (core/read_file.h) for a binary
  /// that is to be copied.
  virtual Status prepare(const LaunchContext&) const { return {}; }
  /// Returns the command that runs a shell script there, to inspect the environment before assay is
  /// copied to it. Empty `words` mean that no inspection is needed. Error: as launch().
  virtual Result<Launch> look(std::string_view /*script*/, const LaunchContext&) const {
    return Launch();
  }
  /// `arguments` are assay's command-line arguments: {"run", "quick", ...}. Error: usage, for
  /// settings that do not fit the machine, such as GPUs that it lacks; as read_operand() for a
  /// binary that is to be copied.
  virtual Result<Launch> launch(const std::vector<std::string>& arguments,
                                const LaunchContext& context) const = 0;
  /// Returns the device to measure there; empty: that of the plan.
  virtual std::string device() const { return {}; }
};

struct EnvironmentKind {
  std::string_view name;
  std::string_view summary;       ///< one line
  std::vector<std::string> keys;  ///< allowed keys of its settings
  /// `file` is the plan's name for messages. Error: usage, "FILE:LINE: ...".
  Result<std::unique_ptr<Environment>> (*read)(const YamlReader& settings, std::string_view file);
};
using EnvironmentKindRegistry = Registry<EnvironmentKind>;

/// Reads a map with `kind`, that kind's settings and the caller's additional keys, `more`. Error:
/// usage, "FILE:LINE: ...".
Result<std::unique_ptr<Environment>> read_environment(const YamlValue& value, std::string_view file,
                                                      const std::vector<std::string>& more);

/// Error: unavailable, if there is no `program` in PATH; it names the environment, and the package
/// to install.
Status check_program(std::string_view environment, const std::string& program,
                     std::string_view package);

/// Reads the settings `cpus` ("0-3,8"), `cpu_quota` ("10%" of one CPU, or "1.5" CPUs) and `memory`
/// ("8GiB"). Error: usage, "FILE:LINE: ...".
Result<ResourceLimits> read_limits(const YamlReader& settings);
/// Returns the numbers of "0-3,8", ascending; empty if the text is not such a list of numbers below
/// 8192.
std::vector<int> parse_cpu_list(std::string_view text);

/// Returns whether a shell can export a variable of this name.
bool is_variable_name(std::string_view name);

/// Puts "env", "NAME=VALUE", ... before `words` if there are variables, for programs that start
/// others elsewhere.
std::vector<std::string> with_variables(
    const std::vector<std::pair<std::string, std::string>>& variables,
    std::vector<std::string> words);

}  // namespace assay
