#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "advise/doctor/variable_advice.h"
#include "machine/system/nic.h"

namespace assay::named_interfaces_check {
namespace {

constexpr Advice sockets = {
    .wanted = "names of interfaces of this machine, as ip link shows them",
    .why = "NCCL, RCCL and Gloo find no address for their first connection, and jobs do not start",
    .source =
        "NCCL docs, NCCL_SOCKET_IFNAME; PyTorch docs, torch.distributed: Common environment "
        "variables",
    .fix = {}};
constexpr Advice adapters = {
    .wanted = "names of RDMA devices of this machine, as ibv_devices shows them",
    .why = "NCCL and RCCL find no RDMA device, and nodes talk over TCP",
    .source = "NCCL docs, NCCL_IB_HCA",
    .fix = {}};

/// A list as NCCL reads it: "^a,b" is all but these, "=a" this name alone, else names begin so;
/// "a:1" is a port.
struct Names {
  bool excluded = false, exact = false;
  std::vector<std::string_view> names;

  Names(std::string_view text, bool always_exact) {
    const auto take = [&text](char sign) {
      const bool there = text.starts_with(sign);
      if (there) text.remove_prefix(1);
      return there;
    };
    excluded = take('^');
    exact = take('=') || always_exact;
    while (!text.empty()) {
      const std::size_t comma = std::min(text.find(','), text.size());
      const auto name = words(text.substr(0, comma));
      if (!name.empty()) names.push_back(name.front());
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
  }
  bool choose(std::string_view name, int port) const {
    const bool named = std::any_of(names.begin(), names.end(), [&](std::string_view entry) {
      const std::size_t colon = entry.find(':');
      if (colon != entry.npos && whole_number(entry.substr(colon + 1)).value_or(port) != port) {
        return false;
      }
      entry = entry.substr(0, colon);
      return exact ? name == entry : name.starts_with(entry);
    });
    return named != excluded;
  }
};

struct Named {
  std::string name;
  int port = 0;
};

std::optional<Finding> judge(const CheckContext& context, const char* name, bool always_exact,
                             const std::vector<Named>& present, bool certain,
                             const Advice& advice) {
  const auto set = variable(context, name);
  if (!set || set->empty()) return std::nullopt;
  const Names wanted(*set, always_exact);
  std::vector<std::string> chosen, all;
  for (const Named& one : present) {
    all.push_back(one.name);
    if (wanted.choose(one.name, one.port)) chosen.push_back(one.name);
  }
  constexpr std::size_t most_shown = 8;
  all.resize(std::min(all.size(), most_shown));
  chosen.resize(std::min(chosen.size(), most_shown));
  const std::string text = variable_text(context, name);
  if (!chosen.empty()) return passed(advice, fmt::format("{}: {}", text, fmt::join(chosen, ", ")));
  Finding finding = bad(certain, advice,
                        all.empty() ? text + ": there is none"
                                    : fmt::format("{}: none of {}", text, fmt::join(all, ", ")));
  finding.fix = fmt::format("unset {}, or name one that is there; it takes no addresses", name);
  return finding;
}

std::vector<Finding> run(const CheckContext& context) {
  std::vector<Finding> findings;
  std::vector<Named> interfaces, ports;
  for (const std::string& name : context.machine.list("sys/class/net")) {
    if (name != "bonding_masters") interfaces.push_back({name});  // a file of the bonding driver
  }
  for (const Nic& nic : read_nics(context.machine)) ports.push_back({nic.name, nic.port});
  for (const char* name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    auto finding = judge(context, name, name[0] == 'G', interfaces, true, sockets);
    if (!finding) continue;
    // Every machine has at least lo.
    if (interfaces.empty()) {
      finding = unknown(sockets, variable_text(context, name) +
                                     ", and the capture or folder has no /sys/class/net");
    }
    findings.push_back(std::move(*finding));
  }
  if (auto finding =
          judge(context, "NCCL_IB_HCA", false, ports, context.intent.multi_node, adapters)) {
    findings.push_back(std::move(*finding));
  }
  return findings;
}

const CheckRegistry::Add registered{
    {"named-interfaces", "Interfaces that variables name", Topic::network, &run}};

}  // namespace
}  // namespace assay::named_interfaces_check
