// The processor: model, topology, caches, and what this process may use of it.
#include <fmt/format.h>
#include <sched.h>

#include <nlohmann/json.hpp>
#include <set>

#include "system/fact_source.h"

namespace assay {
namespace {

constexpr const char* cpus = "sys/devices/system/cpu";

/// "0-3,8": the CPUs in this process's affinity mask, as the kernel writes lists.
std::string affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::string list;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    list += list.empty() ? "" : ",";
    list += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    first = last;
  }
  return list;
}

/// Caches of CPU 0: [{"level": 3, "type": "Unified", "size": "32768K", "shared": "0-7"}].
Json caches(const std::filesystem::path& root) {
  Json list = Json::array();
  for (int index = 0;; ++index) {
    const std::string base = fmt::format("{}/cpu0/cache/index{}/", cpus, index);
    const auto level = read_number(root, base + "level");
    if (!level) return list;
    Json cache = {{"level", *level}};
    put_fact(cache, "type", read_fact(root, base + "type"));
    put_fact(cache, "size", read_fact(root, base + "size"));
    put_fact(cache, "shared", read_fact(root, base + "shared_cpu_list"));
    list.push_back(std::move(cache));
  }
}

/// Physical cores and sockets among the first 4096 CPUs.
void put_topology(Json& json, const std::filesystem::path& root) {
  std::set<long long> sockets;
  std::set<std::pair<long long, long long>> cores;
  long long threads = 0;
  for (int cpu = 0; cpu < 4096; ++cpu) {
    const std::string base = fmt::format("{}/cpu{}/topology/", cpus, cpu);
    const auto socket = read_number(root, base + "physical_package_id");
    const auto core = read_number(root, base + "core_id");
    if (!socket || !core) {
      if (!std::filesystem::exists(root / fmt::format("{}/cpu{}", cpus, cpu))) break;
      continue;  // offline
    }
    sockets.insert(*socket);
    cores.insert({*socket, *core});
    ++threads;
  }
  if (threads == 0) return;
  json["sockets"] = sockets.size();
  json["cores"] = cores.size();
  json["threads"] = threads;
}

Json read_cpu(const std::filesystem::path& root) {
  Json json = Json::object();
  if (const auto info = read_fact(root, "proc/cpuinfo")) {
    for (const auto& [key, field] : {std::pair{"model", "model name"},
                                     {"microcode", "microcode"},
                                     {"implementer", "CPU implementer"},
                                     {"part", "CPU part"}}) {
      put_fact(json, key, line_value(*info, field));
    }
  }
  put_topology(json, root);
  put_fact(json, "online", read_fact(root, fmt::format("{}/online", cpus)));
  put_fact(json, "smt", read_fact(root, fmt::format("{}/smt/control", cpus)));
  put_fact(json, "governor",
           read_fact(root, fmt::format("{}/cpu0/cpufreq/scaling_governor", cpus)));
  put_fact(json, "scaling_driver",
           read_fact(root, fmt::format("{}/cpu0/cpufreq/scaling_driver", cpus)));
  put_fact(json, "highest_khz",
           read_number(root, fmt::format("{}/cpu0/cpufreq/cpuinfo_max_freq", cpus)));
  json["caches"] = caches(root);
  json["affinity"] = affinity();
  return json;
}

const FactRegistry::Add registered{{"cpu", &read_cpu}};

}  // namespace
}  // namespace assay
