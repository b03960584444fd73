#include "judge/compare/fingerprint_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

#include "core/json.h"
#include "machine/system/anonymize_capture.h"
#include "machine/system/recordable_settings.h"

namespace assay {
namespace {

/// A rule for paths; the first matching one applies, and among equally likely differences those of
/// earlier rules come first. "*" matches one step; a path may have further
/// steps after the pattern.
struct Rule {
  std::string_view pattern;
  Likelihood likelihood;
  std::string_view why;
};

constexpr Likelihood high = Likelihood::high, medium = Likelihood::medium, low = Likelihood::low,
                     identity = Likelihood::identity;

/// Stands for the path of a variable that is no setting: older versions recorded what mpirun sets
/// for each process.
constexpr std::string_view of_one_process = "variable of one process";

constexpr std::array<Rule, 75> rules = {{
    {"accelerators.*.uuid", identity, "another piece of hardware"},
    {"accelerators.*.serial", identity, "another piece of hardware"},
    {"accelerators.*.index", identity, "numbered differently"},
    {"accelerators.*.pci", identity, "another slot"},
    {"accelerators.*.device_files", identity, "other device files"},
    {"accelerators.*.name", high, "another accelerator"},
    {"accelerators.*.arch", high, "another architecture"},
    {"accelerators.*.device_id", high, "another accelerator"},
    {"accelerators.*.compute_units", high, "more or fewer compute units"},
    {"accelerators.*.dies", high, "more or fewer dies"},
    {"accelerators.*.compute_partition", high, "how the accelerator is divided"},
    {"accelerators.*.memory_partition", high, "how its memory is divided"},
    {"accelerators.*.memory_bytes", high, "memory, and with it batch and cache sizes"},
    {"accelerators.*.visible_memory_bytes", medium, "the BAR, and with it peer and host access"},
    {"accelerators.*.power_cap", high, "the power cap bounds the clock under load"},
    {"accelerators.*.clock_max_hz", high, "the highest clock"},
    {"accelerators.*.performance_level", high, "how clocks are chosen"},
    {"accelerators.*.ecc", high, "error correction costs memory bandwidth on some parts"},
    {"accelerators.*.pcie", high, "the host link bounds every copy"},
    {"accelerators.*.links", high, "links between accelerators bound collectives"},
    {"accelerators.*.virtual_function", high, "part of an accelerator, scheduled by the host"},
    {"accelerators.*.passthrough", medium, "an accelerator passed through to a virtual machine"},
    {"accelerators.*.numa_node", medium, "which memory and cores are near the accelerator"},
    {"accelerators.*.local_cpus", medium, "which cores are near the accelerator"},
    {"accelerators.*.driver", medium, "driver version"},
    {"accelerators.*.vbios", medium, "clocks, power and memory timings"},
    {"accelerators.*.firmware", medium, "power management and copy engines"},
    {"accelerators", high, "the number of accelerators"},
    {"cgroup.cpu_limit", high, "CPU time this process may use"},
    {"cgroup.cpu_set", medium, "CPUs its control group may use"},
    {"cgroup.memory_limit_bytes", medium, "memory this process may use"},
    {"cgroup.version", low, "how limits are set"},
    {"cpu.affinity", high, "CPUs this process may use"},
    {"cpu.model", high, "another processor"},
    {"cpu.part", high, "another processor"},
    {"cpu.implementer", high, "another processor"},
    {"cpu.cores", high, "more or fewer cores"},
    {"cpu.threads", high, "more or fewer hardware threads"},
    {"cpu.sockets", high, "more or fewer sockets"},
    {"cpu.online", high, "CPUs switched on"},
    {"cpu.caches", high, "cache sizes"},
    {"cpu.governor", high, "how CPU clocks are chosen"},
    {"cpu.highest_khz", high, "the CPU's highest clock"},
    {"cpu.scaling_driver", medium, "how CPU clocks are chosen"},
    {"cpu.smt", medium, "two hardware threads share a core"},
    {"cpu.microcode", low, "mitigations come with microcode"},
    {"memory.numa_balancing", medium, "the kernel moves pages between NUMA nodes under load"},
    {"memory.numa_nodes", high, "how memory is divided"},
    {"memory.transparent_huge_pages", medium, "address translation of large buffers"},
    {"memory.huge_page", low, "reserved huge pages"},
    {"memory.bytes", medium, "memory size"},
    {"backends.*.libraries", medium, "another library or version does the work"},
    {"backends.*.devices.*.uuid", identity, "another piece of hardware"},
    {"backends.*.devices.*.pci", identity, "another slot"},
    {"backends.*.devices.*.memory_bytes", medium, "memory of the device that assay opened"},
    {"backends.*.devices.*.multiprocessors", high, "processors of the device that assay opened"},
    {"backends", high, "what assay could open"},
    {"libraries", medium, "another library or version is within reach"},
    {"environment.ASSAY_", low, "a setting of assay"},
    {"environment.KUBERNETES_SERVICE_HOST", identity, "the cluster"},
    {"environment.SLURM_JOB_ID", identity, "the job"},
    {of_one_process, identity, "the process, no setting"},
    {"environment", medium, "a setting of a runtime or library"},
    {"virtualization.hypervisor", high,
     "a virtual machine: memory translation, steal time, interrupts"},
    {"virtualization.container", low, "a container by itself costs little; look at its limits"},
    {"virtualization.namespaces", low, "which parts of the machine this process sees"},
    {"virtualization", low, "isolation"},
    {"host.kernel", medium, "another kernel: scheduler, drivers, mitigations"},
    {"host.command_line.BOOT_IMAGE", low, "the file of the kernel"},
    {"host.command_line.root", identity, "another disk"},
    {"host.command_line", medium, "kernel settings: IOMMU, mitigations, isolation"},
    {"host.clock_source", medium, "the cost and resolution of reading the time"},
    {"host.name", identity, "another host"},
    {"host", low, "system software or board"},
    {"assay", identity, "measured by another build of assay"},
}};

std::string_view next_step(std::string_view& path) {
  const std::size_t dot = path.find('.');
  const std::string_view step = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  return step;
}

bool fits(std::string_view pattern, std::string_view path) {
  while (!pattern.empty()) {
    if (path.empty()) return false;
    const std::string_view wanted = next_step(pattern), step = next_step(path);
    // The last step of a pattern may be a prefix: "power_cap" matches "power_cap_watts".
    const bool same =
        wanted == "*" || (pattern.empty() ? step.starts_with(wanted) : step == wanted);
    if (!same) return false;
  }
  return true;
}

constexpr Rule no_rule = {"", low, "not known to matter"};

/// The index of the path's rule; rules.size() if there is none.
std::size_t rule_index(std::string_view path) {
  std::string_view name = path;
  if (next_step(name) == "environment" && !name.empty() && !is_performance_variable(name)) {
    path = of_one_process;
  }
  const auto is_for = [&](const Rule& rule) { return fits(rule.pattern, path); };
  return static_cast<std::size_t>(std::ranges::find_if(rules, is_for) - rules.begin());
}

/// Lists leaves by dotted path. Depth is limited because the input may not be a valid fingerprint.
void flatten(const Json& json, const std::string& path, int depth,
             std::map<std::string, Json>& leaves) {
  constexpr int deepest = 12;
  const bool inner = (json.is_object() || json.is_array()) && !json.empty() && depth < deepest;
  if (!inner) {
    // An object without members is a fact no more than one that is absent.
    const bool empty = json.is_null() || (json.is_object() && json.empty());
    if (!empty && !path.empty()) leaves[path] = json;
    return;
  }
  const std::string prefix = path.empty() ? "" : path + ".";
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      flatten(json[i], prefix + std::to_string(i), depth + 1, leaves);
    }
    return;
  }
  for (const auto& [key, value] : json.items()) flatten(value, prefix + key, depth + 1, leaves);
}

/// Returns whether a capture hid the value. It is then unknown and no difference.
bool is_masked(const Json& value) {
  return value.is_string() && holds_masked_part(value.get<std::string>());
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char letter) {
    return std::isdigit(letter) != 0;
  });
}

/// Returns "0-3,6" for {0, 1, 2, 3, 6}.
std::string range_text(const std::set<int>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int first = *at;
    int last = first;
    for (++at; at != numbers.end() && *at == last + 1; ++at) last = *at;
    text += text.empty() ? "" : ",";
    text += first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

/// Merges equal changes of several accelerators into one difference.
std::vector<Difference> fold(const std::vector<Difference>& all) {
  std::vector<Difference> folded;
  std::map<std::string, std::pair<std::size_t, std::set<int>>> groups;
  for (const Difference& difference : all) {
    std::string_view rest = difference.path;
    const std::string_view section = next_step(rest);
    const std::string_view index = next_step(rest);
    if (section != "accelerators" || !is_number(index) || index.size() > 6) {
      folded.push_back(difference);
      continue;
    }
    const std::string key =
        fmt::format("{}\n{}\n{}", rest, json_line(difference.a), json_line(difference.b));
    const auto [group, fresh] = groups.try_emplace(key, folded.size(), std::set<int>{});
    group->second.second.insert(std::stoi(std::string(index)));
    if (fresh) folded.push_back(difference);
    const std::string suffix = rest.empty() ? "" : "." + std::string(rest);
    folded[group->second.first].path =
        fmt::format("accelerators.{}{}", range_text(group->second.second), suffix);
  }
  return folded;
}

/// Splits the kernel's command line into one fact per option, so that a difference names the
/// option. An option without a value is true; the values of a repeated option are concatenated.
void split_boot_line(std::map<std::string, Json>& facts) {
  const std::string path = "host.command_line";
  const auto line = facts.find(path);
  if (line == facts.end() || !line->second.is_string() || is_masked(line->second)) return;
  const std::string text = line->second.get<std::string>();
  facts.erase(line);
  for (const std::string& word : boot_words(text)) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const Json value = equals == word.size() ? Json(true) : Json(word.substr(equals + 1));
    const auto [known, fresh] = facts.try_emplace(path + "." + word.substr(0, equals), value);
    if (!fresh && known->second.is_string() && value.is_string()) {
      known->second = known->second.get<std::string>() + " " + value.get<std::string>();
    }
  }
}

}  // namespace

std::vector<Difference> diff_fingerprints(const Json& a, const Json& b) {
  std::map<std::string, Json> left, right;
  flatten(a, "", 0, left);
  flatten(b, "", 0, right);
  split_boot_line(left);
  split_boot_line(right);
  std::vector<Difference> all;
  const auto add = [&](const std::string& path, const Json& was, const Json& is) {
    const std::size_t index = rule_index(path);
    const Rule& rule = index < rules.size() ? rules[index] : no_rule;
    all.push_back({path, was, is, rule.likelihood, std::string(rule.why)});
  };
  for (const auto& [path, value] : left) {
    const auto other = right.find(path);
    if (is_masked(value) || (other != right.end() && is_masked(other->second))) continue;
    if (other == right.end()) {
      add(path, value, {});
    } else if (other->second != value) {
      add(path, value, other->second);
    }
  }
  for (const auto& [path, value] : right) {
    if (left.find(path) == left.end() && !is_masked(value)) add(path, {}, value);
  }
  std::vector<Difference> folded = fold(all);
  // What a guest sees of its processor and memory follows from its hypervisor, which therefore
  // comes first. Otherwise the order of the rules decides: what assay could open follows from the
  // machine and its limits, and stands behind them.
  const auto place = [](const Difference& one) {
    return std::tuple(one.likelihood, one.path != "virtualization.hypervisor", rule_index(one.path),
                      std::string_view(one.path));
  };
  std::stable_sort(folded.begin(), folded.end(),
                   [&](const Difference& x, const Difference& y) { return place(x) < place(y); });
  return folded;
}

std::string_view name_of(Likelihood likelihood) {
  switch (likelihood) {
    case high:
      return "high";
    case medium:
      return "medium";
    case low:
      return "low";
    case identity:
      break;
  }
  return "identity";
}

Json to_json(const std::vector<Difference>& differences) {
  Json list = Json::array();
  for (const Difference& difference : differences) {
    list.push_back({{"path", difference.path},
                    {"a", difference.a},
                    {"b", difference.b},
                    {"likelihood", name_of(difference.likelihood)},
                    {"why", difference.why}});
  }
  return list;
}

}  // namespace assay
