#include <fmt/format.h>

#include "advise/doctor/variable_advice.h"
#include "machine/system/nic.h"

namespace assay::nic_gid_check {
namespace {

constexpr Advice advice = {
    .wanted = "a RoCE v2 GID on every Ethernet port, and NCCL_IB_GID_INDEX naming one if it is set",
    .why =
        "RoCE v1 and link-local addresses do not cross routers, and without a RoCE v2 GID there is "
        "no connection between nodes",
    .source = "NCCL docs, NCCL_IB_GID_INDEX; Linux kernel, sysfs-class-infiniband: gid_attrs",
    .fix =
        "give the interface an IP address (ip addr add ADDRESS dev INTERFACE), then "
        "show_gids or rdma link; NCCL before 2.21: export NCCL_IB_GID_INDEX=INDEX"};

/// Drivers provide 16 to 256 entries and fill them in order.
constexpr int entries = 16;

std::string gid_type(const Machine& machine, const Nic& nic, long long index) {
  return read_setting(machine, nic.port_folder() / "gid_attrs/types" / std::to_string(index))
      .text.value_or("");
}

/// Whether the address is link-local, fe80::/10 in full notation; a capture with masked addresses
/// has none.
bool is_link_local(const Machine& machine, const Nic& nic, int index) {
  const auto gid = read_setting(machine, nic.port_folder() / "gids" / std::to_string(index)).text;
  return gid && gid->starts_with("fe80:");
}

Finding look(const CheckContext& context, const Nic& nic, std::optional<long long> chosen) {
  const Machine& machine = context.machine;
  if (chosen && *chosen >= 0) {
    const std::string type = gid_type(machine, nic, *chosen);
    const std::string found =
        fmt::format("NCCL_IB_GID_INDEX={}: {}", *chosen, type.empty() ? "no such GID" : type);
    return type == "RoCE v2" ? passed(advice, found, label(nic))
                             : bad(context.intent.multi_node, advice, found, label(nic));
  }
  bool any = false;
  std::vector<int> routable, local;
  for (int index = 0; index < entries; ++index) {
    const std::string type = gid_type(machine, nic, index);
    any = any || !type.empty();
    if (type != "RoCE v2") continue;
    (is_link_local(machine, nic, index) ? local : routable).push_back(index);
  }
  if (!routable.empty()) {
    return passed(advice, fmt::format("RoCE v2 at index {}", fmt::join(routable, ", ")),
                  label(nic));
  }
  if (!local.empty()) return warned(advice, "RoCE v2 with a link-local address only", label(nic));
  if (!any) return unknown(advice, "the GID table is not visible here", label(nic));
  return bad(context.intent.multi_node, advice, "no RoCE v2 GID", label(nic));
}

std::vector<Finding> run(const CheckContext& context) {
  const auto set = variable(context, "NCCL_IB_GID_INDEX");
  const auto chosen = set ? whole_number(*set) : std::nullopt;
  std::vector<Finding> findings;
  for (const Nic& nic : read_nics(context.machine)) {
    if (nic.ethernet() && nic.active()) findings.push_back(look(context, nic, chosen));
  }
  return findings;
}

const CheckRegistry::Add registered{{"nic-gid", "RoCE GIDs", Topic::network, &run}};

}  // namespace
}  // namespace assay::nic_gid_check
