#include <set>

#include "advise/doctor/advice.h"
#include "machine/system/nic.h"

namespace assay::rdma_permissions_check {
namespace {

constexpr Advice advice = {
    .wanted = "this user may read and write it",
    .why = "without the verbs device, collectives fall back to TCP, if they run at all",
    .source = "rdma-core docs, udev rules for /dev/infiniband; NCCL docs, Troubleshooting",
    .fix =
        "docker run --device=/dev/infiniband --ulimit memlock=-1; on the host: install "
        "rdma-core, whose udev rules open the devices"};

std::vector<Finding> run(const CheckContext& context) {
  std::set<std::string> names;
  for (const Nic& nic : read_nics(context.machine)) names.insert(nic.name);
  std::vector<Finding> findings;
  for (const std::string& name : names) {
    const std::filesystem::path folder =
        "sys/class/infiniband/" + name + "/device/infiniband_verbs";
    for (const std::string& verbs : context.machine.list(folder)) {
      const std::string file = "dev/infiniband/" + verbs;
      const FileState state = context.machine.access(file);
      const std::string subject = "/" + file;
      if (state == FileState::found) {
        findings.push_back(passed(advice, "may be opened", subject));
      } else if (state == FileState::missing || state == FileState::denied) {
        findings.push_back(bad(context.intent.multi_node, advice,
                               state == FileState::missing ? "does not exist" : "permission denied",
                               subject));
      } else {
        findings.push_back(unknown(advice, "not in the capture", subject));
      }
    }
  }
  return findings;
}

const CheckRegistry::Add registered{
    {"rdma-permissions", "RDMA device files", Topic::network, &run}};

}  // namespace
}  // namespace assay::rdma_permissions_check
