// The processor: model, topology, caches, and which parts of it this process may use.
#include <fmt/format.h>

#include <set>

#include "core/json.h"
#include "machine/system/fact_source.h"

namespace assay::cpu_fact {
namespace {

constexpr const char* cpus = "sys/devices/system/cpu";

/// Returns the caches of CPU 0: [{"level": 3, "type": "Unified", "size": "32768K", "shared":
/// "0-7"}].
Json caches(const Machine& machine) {
  Json list = Json::array();
  for (int index = 0;; ++index) {
    const std::string base = fmt::format("{}/cpu0/cache/index{}/", cpus, index);
    const auto level = read_number(machine, base + "level");
    if (!level) return list;
    Json cache = {{"level", *level}};
    put_fact(cache, "type", read_fact(machine, base + "type"));
    put_fact(cache, "size", read_fact(machine, base + "size"));
    put_fact(cache, "shared", read_fact(machine, base + "shared_cpu_list"));
    list.push_back(std::move(cache));
  }
}

/// Adds the physical cores and sockets among the first 4096 CPUs.
void put_topology(Json& json, const Machine& machine) {
  std::set<long long> sockets;
  std::set<std::pair<long long, long long>> cores;
  long long threads = 0;
  for (int cpu = 0; cpu < 4096; ++cpu) {
    const std::string base = fmt::format("{}/cpu{}/topology/", cpus, cpu);
    const auto socket = read_number(machine, base + "physical_package_id");
    const auto core = read_number(machine, base + "core_id");
    if (!socket || !core) {
      if (!machine.exists(fmt::format("{}/cpu{}", cpus, cpu))) break;
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

Json read_cpu(const Machine& machine) {
  Json json = Json::object();
  if (const auto info = read_fact(machine, "proc/cpuinfo")) {
    for (const auto& [key, field] : {std::pair{"model", "model name"},
                                     {"microcode", "microcode"},
                                     {"implementer", "CPU implementer"},
                                     {"part", "CPU part"}}) {
      put_fact(json, key, line_value(*info, field));
    }
  }
  put_topology(json, machine);
  put_fact(json, "online", read_fact(machine, fmt::format("{}/online", cpus)));
  put_fact(json, "smt", read_fact(machine, fmt::format("{}/smt/control", cpus)));
  put_fact(json, "governor",
           read_fact(machine, fmt::format("{}/cpu0/cpufreq/scaling_governor", cpus)));
  put_fact(json, "scaling_driver",
           read_fact(machine, fmt::format("{}/cpu0/cpufreq/scaling_driver", cpus)));
  put_fact(json, "highest_khz",
           read_number(machine, fmt::format("{}/cpu0/cpufreq/cpuinfo_max_freq", cpus)));
  json["caches"] = caches(machine);
  if (const Json affinity = machine.ask("affinity"); affinity.is_string())
    json["affinity"] = affinity;
  return json;
}

const FactRegistry::Add registered{{"cpu", &read_cpu}};

}  // namespace
}  // namespace assay::cpu_fact
