#include <fmt/format.h>

#include <set>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::cpu_nps_check {
namespace {

constexpr Advice advice = {
    .wanted = "one NUMA node per socket (NPS1)",
    .why =
        "host buffers then come from a part of the socket's memory channels, and the guide's other "
        "settings were not validated with more nodes",
    .source = "ROCm docs, MI300X system optimization: System BIOS settings, NUMA nodes per socket",
    .fix = "NUMA Nodes Per Socket = Auto or NPS1 in the BIOS"};

/// The socket of a node's first CPU.
std::optional<long long> socket_of(const Machine& machine, const std::string& node) {
  const auto cpus =
      read_setting(machine, std::filesystem::path("sys/devices/system/node") / node / "cpulist")
          .text;
  if (!cpus) return std::nullopt;
  const auto first = whole_number(std::string_view(*cpus).substr(0, cpus->find_first_of(",-")));
  if (!first) return std::nullopt;
  const auto socket = read_setting(machine, fmt::format("sys/devices/system/cpu/cpu{}/topology/"
                                                        "physical_package_id",
                                                        *first))
                          .text;
  return socket ? whole_number(*socket) : std::nullopt;
}

std::vector<Finding> run(const CheckContext& context) {
  if (!has_mi300x(context) || context.virtual_machine()) return {};
  std::set<long long> sockets;
  std::size_t nodes = 0;  // nodes with CPUs: memory of GPUs or CXL may be a node of its own
  for (const std::string& name : context.machine.list("sys/devices/system/node")) {
    if (!name.starts_with("node")) continue;
    const auto socket = socket_of(context.machine, name);
    if (!socket) continue;
    sockets.insert(*socket);
    ++nodes;
  }
  if (sockets.empty()) return {unknown(advice, "nodes and sockets are not visible in /sys")};
  const std::string found = fmt::format("{} nodes, {} sockets", nodes, sockets.size());
  return {nodes <= sockets.size() ? passed(advice, found) : warned(advice, found)};
}

const CheckRegistry::Add registered{{"cpu-nps", "NUMA nodes per socket", Topic::host, &run}};

}  // namespace
}  // namespace assay::cpu_nps_check
