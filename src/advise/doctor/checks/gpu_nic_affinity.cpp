#include <fmt/format.h>

#include <algorithm>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"
#include "machine/system/nic.h"
#include "machine/system/pci.h"

namespace assay::gpu_nic_affinity_check {
namespace {

constexpr Advice advice = {
    .wanted = "a NIC behind the GPU's own PCIe switch, or at least on its NUMA node",
    .why = "GPUDirect RDMA across CPU sockets reaches a fraction of the NIC's bandwidth",
    .source =
        "NCCL docs, NCCL_NET_GDR_LEVEL; ROCm docs, GPU-NIC topology; dstack ib_write_bw runs "
        "bound to one socket",
    .fix =
        "move the NIC to a slot of that socket; until then name the near ones: export "
        "NCCL_IB_HCA=LIST, NCCL_NET_GDR_LEVEL=PXB"};

std::optional<Finding> look(const CheckContext& context, const std::vector<Nic>& nics,
                            const Gpu& gpu) {
  const bool behind_switch = std::any_of(nics.begin(), nics.end(), [&](const Nic& nic) {
    return shared_bridges(context.machine, gpu.pci, nic.pci) >= pci_switch_depth;
  });
  if (behind_switch) return passed(advice, "a NIC behind the same switch", label(gpu));
  if (!gpu.numa_node || *gpu.numa_node < 0) {
    return unknown(advice, "the firmware does not report the GPU's NUMA node", label(gpu));
  }
  const bool on_node = std::any_of(nics.begin(), nics.end(),
                                   [&](const Nic& nic) { return nic.numa_node == gpu.numa_node; });
  if (on_node) return passed(advice, "a NIC on the same NUMA node", label(gpu));
  return bad(context.intent.multi_node, advice,
             fmt::format("no NIC on NUMA node {}", *gpu.numa_node), label(gpu));
}

std::vector<Finding> run(const CheckContext& context) {
  std::vector<Nic> nics = read_nics(context.machine);
  std::erase_if(nics, [](const Nic& nic) { return nic.pci.empty() || !nic.active(); });
  if (nics.empty()) return {};
  return for_each_gpu(context, [&](const Gpu& gpu) { return look(context, nics, gpu); });
}

const CheckRegistry::Add registered{{"gpu-nic-affinity", "GPU-NIC affinity", Topic::network, &run}};

}  // namespace
}  // namespace assay::gpu_nic_affinity_check
