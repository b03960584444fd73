#include <fmt/format.h>

#include "advise/doctor/advice.h"
#include "machine/system/nic.h"

namespace assay::nic_mtu_check {
namespace {

constexpr Advice advice = {
    .wanted = "9000, and the same on the switch",
    .why =
        "RoCE takes the largest of 1024, 2048 and 4096 bytes that fits, and 4096 needs an MTU of "
        "about 4200: smaller packets cost bandwidth",
    .source =
        "NVIDIA networking docs, RoCE: MTU considerations; Broadcom and AMD AI NIC setup guides",
    .fix = {}};

/// The MTU for 4096 bytes of payload with RoCE v2's headers.
constexpr long long whole_packets = 4200;

Finding look(const Machine& machine, const Nic& nic) {
  if (nic.interface.empty()) {
    return unknown(advice, "no network interface of the port is in this network namespace",
                   label(nic));
  }
  const Reading reading =
      read_setting(machine, std::filesystem::path("sys/class/net") / nic.interface / "mtu");
  if (!reading.text) return unknown(advice, reading.why_not, label(nic));
  const auto mtu = whole_number(*reading.text);
  if (!mtu) return unknown(advice, "not a number: " + in_quotes(*reading.text), label(nic));
  return *mtu >= whole_packets ? passed(advice, *reading.text, label(nic))
                               : warned(advice, *reading.text, label(nic));
}

std::vector<Finding> run(const CheckContext& context) {
  std::vector<Finding> findings;
  std::vector<std::string> small;
  for (const Nic& nic : read_nics(context.machine)) {
    if (!nic.ethernet() || !nic.active()) continue;
    findings.push_back(look(context.machine, nic));
    if (findings.back().judgement == Judgement::warn) small.push_back(nic.interface);
  }
  for (Finding& finding : findings) {
    if (finding.judgement != Judgement::warn) continue;
    finding.fix =
        fmt::format("for i in {}; do sudo ip link set $i mtu 9000; done", fmt::join(small, " "));
  }
  return findings;
}

const CheckRegistry::Add registered{{"nic-mtu", "NIC MTU", Topic::network, &run}};

}  // namespace
}  // namespace assay::nic_mtu_check
