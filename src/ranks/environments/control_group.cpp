#include "ranks/environments/control_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "core/descriptor.h"
#include "core/program.h"
#include "core/read_file.h"
#include "machine/system/affinity.h"
#include "machine/system/cgroup.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* cgroup_root = "/sys/fs/cgroup";
constexpr double period_us = 100'000;  // the kernel's default

Status write(const fs::path& file, const std::string& text) {
  const Descriptor descriptor(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (descriptor.number() >= 0 &&
      ::write(descriptor.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return {};
  }
  return Error{ErrorKind::unavailable,
               fmt::format("cannot write {}: {}", file.string(), std::strerror(errno))};
}

std::string quota_us(double cpus) {
  return fmt::format("{:.0f}", std::max(1000.0, std::round(cpus * period_us)));
}

/// Returns this process's group in a version 1 hierarchy, or the root of the hierarchy if a
/// container hides the group.
fs::path own_group(const char* controller) {
  return "/" / control_group_folder(this_machine(), controller);
}

}  // namespace

ControlGroups::ControlGroups(ControlGroups&& other) noexcept
    : folders_(std::exchange(other.folders_, {})) {}

ControlGroups& ControlGroups::operator=(ControlGroups&& other) noexcept {
  std::swap(folders_, other.folders_);
  return *this;
}

ControlGroups::~ControlGroups() {
  for (const fs::path& folder : folders_) {
    // The kernel may need a moment to clean up after the process.
    for (int i = 0; i < 20 && ::rmdir(folder.c_str()) != 0 && errno == EBUSY; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

Status ControlGroups::add(const fs::path& folder,
                          const std::vector<std::pair<std::string, std::string>>& settings) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot create {}: {}", folder.string(), error.message())};
  }
  folders_.push_back(folder);
  for (const auto& [file, text] : settings) TRY(write(folder / file, text));
  return {};
}

Result<ControlGroups> ControlGroups::make(const ResourceLimits& limits, const std::string& name) {
  using Settings = std::vector<std::pair<std::string, std::string>>;
  ControlGroups groups;
  std::error_code ignored;
  if (fs::exists(fs::path(cgroup_root) / "cgroup.controllers", ignored)) {  // version 2
    Settings settings;
    std::string controllers;
    const auto add = [&](const char* controller, const char* file, const std::string& text) {
      controllers += fmt::format("{}+{}", controllers.empty() ? "" : " ", controller);
      settings.emplace_back(file, text);
    };
    if (!limits.cpus.empty()) add("cpuset", "cpuset.cpus", cpu_list(limits.cpus));
    if (limits.cpu_quota) {
      add("cpu", "cpu.max", fmt::format("{} {:.0f}", quota_us(*limits.cpu_quota), period_us));
    }
    if (limits.memory_bytes) add("memory", "memory.max", fmt::format("{}", *limits.memory_bytes));
    // The group must be directly below the root: a group that contains processes, like this
    // process's group, cannot have limited subgroups.
    TRY(write(fs::path(cgroup_root) / "cgroup.subtree_control", controllers));
    TRY(groups.add(fs::path(cgroup_root) / name, settings));
    return groups;
  }
  if (!limits.cpus.empty()) {
    const fs::path own = own_group("cpuset");
    const std::string nodes = read_file(own / "cpuset.mems").value_or("0");
    TRY(groups.add(own / name,
                   Settings{{"cpuset.mems", nodes}, {"cpuset.cpus", cpu_list(limits.cpus)}}));
  }
  if (limits.cpu_quota) {
    TRY(groups.add(own_group("cpu") / name,
                   Settings{{"cpu.cfs_period_us", fmt::format("{:.0f}", period_us)},
                            {"cpu.cfs_quota_us", quota_us(*limits.cpu_quota)}}));
  }
  if (limits.memory_bytes) {
    TRY(groups.add(own_group("memory") / name,
                   Settings{{"memory.limit_in_bytes", fmt::format("{}", *limits.memory_bytes)}}));
  }
  return groups;
}

std::vector<std::string> ControlGroups::process_files() const {
  std::vector<std::string> files;
  for (const fs::path& folder : folders_) files.push_back(folder / "cgroup.procs");
  return files;
}

Result<AppliedLimits> apply_limits(const ResourceLimits& limits, const std::string& name) {
  AppliedLimits applied;
  if (!limits.any()) return applied;
  auto groups = ControlGroups::make(limits, name);
  if (groups.ok()) {
    applied.groups = std::move(groups).value();
    applied.how = "control groups";
    return applied;
  }
  std::error_code ignored;
  if (fs::exists("/run/systemd/system", ignored) && find_program("systemd-run")) {
    applied.prefix = {"systemd-run", "--scope", "--quiet", "--collect"};
    if (::geteuid() != 0) applied.prefix.emplace_back("--user");
    const auto property = [&](const std::string& text) {
      applied.prefix.insert(applied.prefix.end(), {"-p", text});
    };
    if (!limits.cpus.empty()) property("AllowedCPUs=" + cpu_list(limits.cpus));
    if (limits.cpu_quota) property(fmt::format("CPUQuota={:.0f}%", *limits.cpu_quota * 100));
    if (limits.memory_bytes) property(fmt::format("MemoryMax={}", *limits.memory_bytes));
    applied.prefix.emplace_back("--");
    applied.how = "systemd-run";
    return applied;
  }
  if (limits.cpu_quota) {
    return Error{ErrorKind::unavailable,
                 fmt::format("a CPU quota needs control groups ({}) or systemd-run, which is not "
                             "available; run as root or leave out cpu_quota",
                             groups.error().message)};
  }
  applied.cpus = limits.cpus;
  applied.address_space_bytes = limits.memory_bytes.value_or(0);
  applied.how = limits.memory_bytes ? "affinity and address space limit" : "affinity";
  return applied;
}

}  // namespace assay
