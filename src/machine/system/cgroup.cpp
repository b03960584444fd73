#include "machine/system/cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "machine/system/fact_source.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* mount = "sys/fs/cgroup";

/// Every ancestor of a group is read, so paths deeper or longer than any real one are rejected.
bool is_sane(std::string_view group) {
  constexpr std::size_t most_bytes = 4096;  // PATH_MAX
  constexpr std::ptrdiff_t most_components = 64;
  return group.size() <= most_bytes &&
         std::count(group.begin(), group.end(), '/') <= most_components;
}

/// Returns the group of `controller` ("" for version 2) in /proc/self/cgroup:
/// "4:memory:/user.slice".
std::optional<fs::path> group_of(std::string_view groups, std::string_view controller) {
  while (!groups.empty()) {
    const std::size_t end = groups.find('\n');
    const std::string_view line = groups.substr(0, end);
    groups.remove_prefix(end == std::string_view::npos ? groups.size() : end + 1);
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string list = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const bool match = controller.empty()
                           ? list == ",,"
                           : list.find(fmt::format(",{},", controller)) != std::string::npos;
    if (!match) continue;
    const std::string_view group = line.substr(second + 1);
    return is_sane(group) ? std::optional(fs::path(group).relative_path()) : std::nullopt;
  }
  return std::nullopt;
}

/// Calls `visit` with the folders of the group and its ancestors. Inside a container the path may
/// name a group that is not visible; then only the root of the mount has files.
template <typename Visit>
void for_each_group(const fs::path& hierarchy, fs::path group, Visit visit) {
  for (;;) {
    visit(hierarchy / group);
    if (group.empty()) return;
    group = group.parent_path();
  }
}

/// Returns the smallest value of `limit` over the group and its ancestors.
template <typename Limit>
std::optional<double> tightest(const Machine& machine, const fs::path& hierarchy,
                               const fs::path& group, Limit limit) {
  std::optional<double> least;
  for_each_group(hierarchy, group, [&](const fs::path& folder) {
    if (const std::optional<double> value = limit(machine, folder)) {
      least = std::min(least.value_or(std::numeric_limits<double>::infinity()), *value);
    }
  });
  return least;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

/// Reads cpu.max: "200000 100000" or "max 100000".
std::optional<double> cpus_v2(const Machine& machine, const fs::path& group) {
  const auto text = read_fact(machine, group / "cpu.max");
  if (!text || text->find(' ') == std::string::npos) return std::nullopt;
  const auto quota = number(*text), period = number(text->substr(text->find(' ') + 1));
  if (!quota || !period || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::optional<double> cpus_v1(const Machine& machine, const fs::path& group) {
  const auto quota = read_number(machine, group / "cpu.cfs_quota_us");
  const auto period = read_number(machine, group / "cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> bytes_v2(const Machine& machine, const fs::path& group) {
  const auto text = read_fact(machine, group / "memory.max");
  return text ? number(*text) : std::nullopt;
}

std::optional<double> bytes_v1(const Machine& machine, const fs::path& group) {
  const auto bytes = read_number(machine, group / "memory.limit_in_bytes");
  if (!bytes || *bytes >= (1ll << 62)) return std::nullopt;  // the kernel's way to write "no limit"
  return static_cast<double>(*bytes);
}

/// Returns `hierarchy`/`group` if it is visible here, else the root of the mount, which then is
/// this group.
fs::path visible(const Machine& machine, const fs::path& hierarchy, const fs::path& group) {
  return machine.exists(hierarchy / group) ? hierarchy / group : hierarchy;
}

}  // namespace

CgroupLimits read_cgroup_limits(const Machine& machine) {
  CgroupLimits limits;
  const std::string groups = read_fact(machine, "proc/self/cgroup").value_or("");
  const fs::path top = mount;
  const auto unified = group_of(groups, "");
  if (unified && machine.exists(top / "cgroup.controllers")) {
    limits.version = 2;
    limits.cpus = tightest(machine, top, *unified, cpus_v2);
    limits.memory_bytes = tightest(machine, top, *unified, bytes_v2);
    const fs::path own = visible(machine, top, *unified);
    limits.cpu_set = read_fact(machine, own / "cpuset.cpus.effective").value_or("");
    limits.cpu_statistics = own / "cpu.stat";
  } else if (const auto cpu = group_of(groups, "cpu")) {
    limits.version = 1;
    limits.cpus = tightest(machine, top / "cpu", *cpu, cpus_v1);
    limits.memory_bytes = tightest(machine, top / "memory",
                                   group_of(groups, "memory").value_or(fs::path()), bytes_v1);
    const fs::path set =
        visible(machine, top / "cpuset", group_of(groups, "cpuset").value_or(fs::path()));
    limits.cpu_set = read_fact(machine, set / "cpuset.cpus").value_or("");
    limits.cpu_statistics = visible(machine, top / "cpu", *cpu) / "cpu.stat";
  }
  return limits;
}

std::vector<GroupMemory> memory_of_groups(const Machine& machine) {
  const std::string groups = read_fact(machine, "proc/self/cgroup").value_or("");
  const fs::path top = mount;
  const auto unified = group_of(groups, "");
  const bool is_v2 = unified && machine.exists(top / "cgroup.controllers");
  const auto group = is_v2 ? unified : group_of(groups, "memory");
  std::vector<GroupMemory> limited;
  if (!group) return limited;
  for_each_group(is_v2 ? top : top / "memory", *group, [&](const fs::path& folder) {
    const auto most = is_v2 ? bytes_v2(machine, folder) : bytes_v1(machine, folder);
    if (!most) return;
    const auto used =
        read_number(machine, folder / (is_v2 ? "memory.current" : "memory.usage_in_bytes"));
    const std::string statistics = "\n" + read_fact(machine, folder / "memory.stat").value_or("");
    const std::string key = is_v2 ? "\ninactive_file " : "\ntotal_inactive_file ";
    const std::size_t at = statistics.find(key);
    const double files =
        at == std::string::npos
            ? 0
            : number(std::string_view(statistics).substr(at + key.size())).value_or(0);
    limited.push_back({*most, std::max(0.0, static_cast<double>(used.value_or(0)) - files)});
  });
  return limited;
}

fs::path control_group_folder(const Machine& machine, std::string_view controller) {
  const std::string groups = read_fact(machine, "proc/self/cgroup").value_or("");
  const fs::path hierarchy = fs::path(mount) / controller;
  return visible(machine, hierarchy, group_of(groups, controller).value_or(fs::path()));
}

}  // namespace assay
