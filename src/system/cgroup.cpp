// Limits that the control group puts on this process, version 2 and version 1 hierarchies.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "system/fact_source.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The group of `controller` ("" for version 2) in /proc/self/cgroup: "4:memory:/user.slice".
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
    if (match) return fs::path(line.substr(second + 1)).relative_path();
  }
  return std::nullopt;
}

/// The smallest of what `limit` gives for the group and all its ancestors; inside a container the
/// path may name a group that is not visible, and only the mount's root counts.
template <typename Limit>
std::optional<double> tightest(const fs::path& mount, fs::path group, Limit limit) {
  std::optional<double> least;
  for (;;) {
    if (const std::optional<double> value = limit(mount / group)) {
      least = std::min(least.value_or(std::numeric_limits<double>::infinity()), *value);
    }
    if (group.empty()) return least;
    group = group.parent_path();
  }
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<double> cpus_v2(const fs::path& folder) {  // cpu.max: "200000 100000" or "max 100000"
  const auto text = read_fact(folder, "cpu.max");
  if (!text || text->find(' ') == std::string::npos) return std::nullopt;
  const auto quota = number(*text), period = number(text->substr(text->find(' ') + 1));
  if (!quota || !period || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::optional<double> cpus_v1(const fs::path& folder) {
  const auto quota = read_number(folder, "cpu.cfs_quota_us");
  const auto period = read_number(folder, "cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> bytes_v2(const fs::path& folder) {
  const auto text = read_fact(folder, "memory.max");
  return text ? number(*text) : std::nullopt;
}

std::optional<double> bytes_v1(const fs::path& folder) {
  const auto bytes = read_number(folder, "memory.limit_in_bytes");
  if (!bytes || *bytes >= (1ll << 62)) return std::nullopt;  // the kernel's way to say none
  return static_cast<double>(*bytes);
}

Json read_cgroup(const fs::path& root) {
  Json json = Json::object();
  const std::string groups = read_fact(root, "proc/self/cgroup").value_or("");
  const fs::path mount = root / "sys/fs/cgroup";
  std::optional<double> cpus, bytes;
  if (const auto group = group_of(groups, ""); group && fs::exists(mount / "cgroup.controllers")) {
    json["version"] = 2;
    cpus = tightest(mount, *group, cpus_v2);
    bytes = tightest(mount, *group, bytes_v2);
  } else if (const auto cpu = group_of(groups, "cpu")) {
    json["version"] = 1;
    cpus = tightest(mount / "cpu", *cpu, cpus_v1);
    bytes = tightest(mount / "memory", group_of(groups, "memory").value_or(fs::path()), bytes_v1);
  }
  put_fact(json, "cpu_limit", cpus);
  if (bytes) json["memory_limit_bytes"] = static_cast<unsigned long long>(*bytes);
  return json;
}

const FactRegistry::Add registered{{"cgroup", &read_cgroup}};

}  // namespace
}  // namespace assay
