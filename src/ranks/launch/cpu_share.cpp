#include "ranks/launch/cpu_share.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <tuple>

#include "machine/system/affinity.h"

namespace assay {
namespace {

/// Returns the number in a file of a CPU's topology; 0 if there is none.
int topology_number(const std::string& root, int cpu, std::string_view name) {
  std::ifstream file(fmt::format("{}/sys/devices/system/cpu/cpu{}/topology/{}", root, cpu, name));
  int number = 0;
  return file >> number ? number : 0;
}

}  // namespace

std::vector<int> by_core(std::vector<int> cpus, const std::string& root) {
  std::vector<std::tuple<int, int, int>> places;  // package, core, CPU
  for (const int cpu : cpus) {
    const int package = topology_number(root, cpu, "physical_package_id");
    places.emplace_back(package, topology_number(root, cpu, "core_id"), cpu);
  }
  std::sort(places.begin(), places.end());
  std::transform(places.begin(), places.end(), cpus.begin(),
                 [](const auto& place) { return std::get<2>(place); });
  return cpus;
}

std::vector<int> share_of(const std::vector<int>& cpus, std::size_t index, std::size_t parts) {
  const std::size_t begin = index * cpus.size() / parts;
  const std::size_t end = std::max((index + 1) * cpus.size() / parts, begin + 1);
  return {cpus.begin() + static_cast<std::ptrdiff_t>(begin),
          cpus.begin() + static_cast<std::ptrdiff_t>(end)};
}

Status divide_cpus(Team& team, bool on_cpu) {
  if (team.size() == 1) return {};
  const std::vector<int> cpus = affinity_cpus();
  const TeamMember& own = own_place(team);
  const std::string mine = on_cpu ? own.host + ' ' + cpu_list(cpus) : "";
  const std::vector<std::string> all = TRY(team.exchange("dividing the CPUs", mine));
  const auto before = all.begin() + team.rank();
  const auto parts = static_cast<std::size_t>(std::count(all.begin(), all.end(), mine));
  if (!on_cpu || cpus.empty() || parts == 1) return {};
  const auto index = static_cast<std::size_t>(std::count(all.begin(), before, mine));
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : share_of(by_core(cpus), index, parts)) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  // If the kernel refuses, the ranks share all CPUs; this is slower, but can be measured.
  (void)sched_setaffinity(0, sizeof set, &set);
  return {};
}

}  // namespace assay
