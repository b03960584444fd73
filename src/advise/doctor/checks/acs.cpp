#include <fmt/format.h>

#include <set>

#include "advise/doctor/advice.h"
#include "advise/doctor/pci.h"
#include "machine/system/nic.h"

namespace assay::acs_check {
namespace {

constexpr Advice advice = {
    .wanted = "ACS off (all control bits 0) on every bridge above a GPU or NIC",
    .why =
        "a bridge that redirects peer-to-peer traffic sends it up to the CPU's root complex and "
        "back: a fraction of the bandwidth between GPU and NIC, sometimes a hang",
    .source =
        "ROCm docs, workload optimization: Disable ACS for multi-node RCCL; NCCL docs, "
        "Troubleshooting: PCI Access Control Services",
    .fix =
        "sudo setpci -s BRIDGE ECAP_ACS+0x6.w=0000 for each bridge; off for good: ACS Enable = "
        "Disable in the BIOS"};

/// The bridges above every GPU and NIC, each listed once.
std::set<std::string> bridges_of_interest(const CheckContext& context) {
  std::set<std::string> bridges;
  const auto add = [&](const std::string& address) {
    for (std::string& bridge : bridges_above(context.machine, address)) {
      bridges.insert(std::move(bridge));
    }
  };
  for (const Gpu& gpu : context.gpus) add(gpu.pci);
  for (const Nic& nic : read_nics(context.machine)) add(nic.pci);
  return bridges;
}

/// Behind a switch, the kernel gives devices IOMMU groups of their own only if the switch isolates
/// them, which is what ACS does. Groups are formed at boot and do not reflect later changes.
bool groups_suggest_acs(const CheckContext& context) {
  for (const Gpu& gpu : context.gpus) {
    const auto group = context.machine.resolve(pci_folder(gpu.pci) / "iommu_group");
    const std::vector<std::string> above = bridges_above(context.machine, gpu.pci);
    if (group.empty() || above.size() < 2) continue;
    const auto switch_group = context.machine.resolve(pci_folder(above.back()) / "iommu_group");
    if (!switch_group.empty() && switch_group != group) return true;
  }
  return false;
}

struct Bridges {
  std::set<std::string> redirecting, validating;
  int off = 0, hidden = 0, unreadable = 0;
};

Bridges read_bridges(const Machine& machine, const std::set<std::string>& addresses) {
  Bridges bridges;
  for (const std::string& address : addresses) {
    const AcsControl control = acs_control(machine.read(pci_folder(address) / "config").text);
    if (control.state == AcsState::needs_root) {
      ++bridges.hidden;
    } else if (control.state == AcsState::unreadable) {
      ++bridges.unreadable;
    } else if (control.redirects()) {
      bridges.redirecting.insert(address);
    } else if (control.validates()) {
      bridges.validating.insert(address);
    } else {
      ++bridges.off;
    }
  }
  return bridges;
}

std::string fix_for(const std::set<std::string>& bridges) {
  return fmt::format(
      "for b in {}; do sudo setpci -s $b ECAP_ACS+0x6.w=0000; done (until the next "
      "boot; for good: ACS Enable = Disable in the BIOS)",
      fmt::join(bridges, " "));
}

std::vector<Finding> run(const CheckContext& context) {
  if (context.gpus.empty()) return {};
  if (context.virtual_machine()) {
    return {unknown(advice, "a virtual machine does not see its host's bridges")};
  }
  const std::set<std::string> addresses = bridges_of_interest(context);
  if (addresses.empty()) {
    return {unknown(advice, "the bridges above the GPUs are not visible in /sys")};
  }
  const Bridges bridges = read_bridges(context.machine, addresses);
  if (!bridges.redirecting.empty()) {
    // Traffic within the node uses xGMI or NVLink; only GPU-NIC traffic crosses the bridges.
    Finding finding = bad(context.intent.multi_node, advice,
                          fmt::format("{} of {} bridges redirect peer-to-peer traffic",
                                      bridges.redirecting.size(), addresses.size()));
    finding.fix = fix_for(bridges.redirecting);
    return {finding};
  }
  if (bridges.unreadable > 0) {
    return {unknown(advice, fmt::format("the configuration space of {} bridges cannot be read",
                                        bridges.unreadable))};
  }
  if (bridges.hidden > 0) {
    const std::string reason =
        fmt::format("needs root: the ACS registers of {} bridges", bridges.hidden);
    if (groups_suggest_acs(context)) {
      return {warned(advice, reason + "; IOMMU groups per device show that ACS was on at boot")};
    }
    return {unknown(advice, reason)};
  }
  if (!bridges.validating.empty()) {
    Finding finding = warned(advice, fmt::format("SrcValid+ on {} of {} bridges, no redirection",
                                                 bridges.validating.size(), addresses.size()));
    finding.fix = fix_for(bridges.validating);
    return {finding};
  }
  return {passed(advice, fmt::format("off on {} bridges", bridges.off))};
}

const CheckRegistry::Add registered{{"acs", "ACS on PCIe bridges", Topic::host, &run}};

}  // namespace
}  // namespace assay::acs_check
