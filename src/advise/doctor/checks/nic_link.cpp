#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "advise/doctor/advice.h"
#include "machine/system/nic.h"

namespace assay::nic_link_check {
namespace {

constexpr Advice advice = {
    .wanted = "every port ACTIVE, all at one speed",
    .why =
        "a port that is down takes its GPUs' traffic to another NIC, and the slowest port sets "
        "the pace of the collective",
    .source =
        "Linux kernel, Documentation/ABI/stable/sysfs-class-infiniband; RVS and CVS preflight "
        "checks",
    .fix =
        "check cable, transceiver and switch port; rdma link show; sudo ip link set INTERFACE up"};

bool is_known(std::string_view state) {
  constexpr std::array<std::string_view, 6> states = {"NOP",   "DOWN",   "INIT",
                                                      "ARMED", "ACTIVE", "ACTIVE_DEFER"};
  return std::find(states.begin(), states.end(), state) != states.end();
}

std::vector<Finding> run(const CheckContext& context) {
  const std::vector<Nic> nics = read_nics(context.machine);
  if (nics.empty()) {
    if (!context.intent.multi_node) return {};
    Finding none = failed(advice, "no RDMA device in /sys/class/infiniband");
    none.fix =
        "load the NIC's RDMA driver (mlx5_ib, bnxt_re, ionic_rdma); container: --network=host "
        "--device=/dev/infiniband";
    return {none};
  }
  double fastest = 0;
  for (const Nic& nic : nics) {
    if (nic.active()) fastest = std::max(fastest, nic.gigabits_per_second.value_or(0));
  }
  std::vector<Finding> findings;
  for (const Nic& nic : nics) {
    if (!is_known(nic.state)) {
      findings.push_back(unknown(advice,
                                 nic.state.empty() ? "the kernel does not report the port's state"
                                                   : "unknown state " + in_quotes(nic.state),
                                 label(nic)));
      continue;
    }
    const std::string found =
        nic.gigabits_per_second
            ? fmt::format("{}, {:g} Gb/s, {}", nic.state, *nic.gigabits_per_second, nic.link_layer)
            : nic.state;
    Finding finding = passed(advice, found, label(nic));
    if (!nic.active()) {
      finding = bad(context.intent.multi_node, advice, found, label(nic));
      if (!nic.interface.empty())
        finding.fix = "sudo ip link set " + nic.interface +
                      " up; check "
                      "cable, transceiver and switch port";
    } else if (nic.gigabits_per_second.value_or(fastest) < fastest) {
      // A slower port may be there for storage or management.
      finding =
          warned(advice, fmt::format("{}, others have {:g} Gb/s", found, fastest), label(nic));
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

const CheckRegistry::Add registered{{"nic-link", "NIC links", Topic::network, &run}};

}  // namespace
}  // namespace assay::nic_link_check
