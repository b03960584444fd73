#include "ranks/environments/environment.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/program.h"
#include "core/suggest.h"
#include "core/units.h"
#include "machine/system/gpu.h"

namespace assay {
namespace {

/// Parses a number of CPUs, or a percentage of one CPU: "10%".
std::optional<double> parse_cpus(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (percent) value /= 100;
  constexpr double least = 0.01, most = 65536;
  return value >= least && value <= most ? std::optional(value) : std::nullopt;
}

/// Returns the kinds, sorted by name.
std::vector<EnvironmentKind> environment_kinds() {
  std::vector<EnvironmentKind> kinds = EnvironmentKindRegistry::entries();
  std::sort(kinds.begin(), kinds.end(),
            [](const EnvironmentKind& a, const EnvironmentKind& b) { return a.name < b.name; });
  return kinds;
}

}  // namespace

GpuAccess gpu_access() {
  GpuAccess access;
  std::set<std::string> groups;
  const auto add_group = [&](const std::string& file) {
    struct stat status = {};
    if (::stat(file.c_str(), &status) == 0) groups.insert(fmt::format("{}", status.st_gid));
  };
  for (const Gpu& gpu : read_gpus(this_machine())) {
    access.nvidia = access.nvidia || gpu.vendor == "nvidia";
    if (gpu.vendor != "amd") continue;
    access.amd = true;
    for (const std::string& file : gpu.device_files) {
      if (file.find("renderD") == std::string::npos) continue;
      access.amd_files.push_back("/" + file);
      add_group("/" + file);
    }
  }
  if (access.amd) add_group("/dev/kfd");
  access.groups.assign(groups.begin(), groups.end());
  return access;
}

Result<std::unique_ptr<Environment>> read_environment(const YamlValue& value, std::string_view file,
                                                      const std::vector<std::string>& more) {
  const char* const expected = "an environment is a map with kind and the kind's settings";
  // The kind decides which keys are allowed, so it is read first, with any keys.
  std::vector<std::string> given;
  for (const YamlValue::Key& key : value.keys) given.push_back(key.text);
  const YamlReader any = TRY(YamlReader::of(value, file, expected, given));
  const std::string name = TRY(any.text("kind"));
  std::vector<std::string> names;
  for (const EnvironmentKind& kind : environment_kinds()) {
    names.emplace_back(kind.name);
    if (kind.name != name) continue;
    std::vector<std::string> keys = more;
    keys.emplace_back("kind");
    keys.insert(keys.end(), kind.keys.begin(), kind.keys.end());
    return kind.read(TRY(YamlReader::of(value, file, expected, keys)), file);
  }
  return any.wrong("kind", fmt::format("unknown kind \"{}\"{}; allowed: {}", name,
                                       did_you_mean(name, names), fmt::join(names, ", ")));
}

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr int most = 8192;
  std::set<int> cpus;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    int first = 0, last = 0;
    const char* const item_end = item.data() + item.size();
    auto number = std::from_chars(item.data(), item_end, first);
    last = first;
    if (number.ec == std::errc() && number.ptr != item_end && *number.ptr == '-') {
      number = std::from_chars(number.ptr + 1, item_end, last);
    }
    if (number.ec != std::errc() || number.ptr != item_end || first < 0 || last < first ||
        last >= most) {
      return {};
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return {cpus.begin(), cpus.end()};
}

Status check_program(std::string_view environment, const std::string& program,
                     std::string_view package) {
  const Status starts = check_that_starts(program);
  if (starts.ok()) return {};
  return Error{starts.error().kind, fmt::format("environment {}: {}; install {}", environment,
                                                starts.error().message, package)};
}

Result<ResourceLimits> read_limits(const YamlReader& settings) {
  ResourceLimits limits;
  std::string cpus, quota;
  TRY(settings.optional("cpus", cpus));
  TRY(settings.optional("cpu_quota", quota));
  TRY(settings.size("memory", limits.memory_bytes));
  constexpr std::uint64_t least_memory = std::uint64_t{1} << 20;
  if (limits.memory_bytes && *limits.memory_bytes < least_memory) {
    return settings.wrong("memory",
                          fmt::format("\"memory\" is {}, in which nothing can run; allowed: 1MiB "
                                      "and more, e.g. 8GiB; leave it out for no limit",
                                      format_size(*limits.memory_bytes)));
  }
  if (!cpus.empty()) {
    limits.cpus = parse_cpu_list(cpus);
    if (limits.cpus.empty()) {
      return settings.wrong("cpus", fmt::format("\"{}\" is not a list of CPUs; e.g. 0-3,8", cpus));
    }
  }
  if (!quota.empty()) {
    limits.cpu_quota = parse_cpus(quota);
    if (!limits.cpu_quota) {
      return settings.wrong(
          "cpu_quota", fmt::format("\"{}\" is not a quota; allowed: CPUs or a share of one CPU "
                                   "from 1%, e.g. 10% or 1.5",
                                   quota));
    }
  }
  return limits;
}

bool is_variable_name(std::string_view name) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  constexpr std::string_view digits = "0123456789";
  return !name.empty() && digits.find(name.front()) == std::string_view::npos &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return letters.find(c) != std::string_view::npos ||
                  digits.find(c) != std::string_view::npos;
         });
}

std::vector<std::string> with_variables(
    const std::vector<std::pair<std::string, std::string>>& variables,
    std::vector<std::string> words) {
  if (variables.empty()) return words;
  std::vector<std::string> all = {"env"};
  for (const auto& [name, text] : variables) all.push_back(fmt::format("{}={}", name, text));
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace assay
