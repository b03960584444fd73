#include <array>

#include "advise/doctor/variable_advice.h"
#include "machine/system/fact_source.h"
#include "machine/system/nic.h"

namespace assay::gpudirect_rdma_check {
namespace {

constexpr Advice amd_advice = {
    .wanted =
        "peer memory, or dma-buf (Linux 5.12 with CONFIG_DMABUF_MOVE_NOTIFY and "
        "CONFIG_PCI_P2PDMA)",
    .why = "without it every message between GPUs of two nodes is copied through host memory",
    .source = "RCCL, net_ib.cc and rocmwrap.cc; linux-rdma/perftest README: GPUDirect with ROCm",
    .fix =
        "install the NIC vendor's driver with PeerDirect (ib_peer_mem) before amdgpu-dkms, or "
        "boot a kernel with both options and export NCCL_DMABUF_ENABLE=1"};

constexpr Advice nvidia_advice = {
    .wanted = "nvidia_peermem, or dma-buf (open kernel modules on Linux 5.12)",
    .why = "without it every message between GPUs of two nodes is copied through host memory",
    .source = "NVIDIA GPUDirect RDMA docs: Supported systems; NCCL docs, NCCL_DMABUF_ENABLE",
    .fix = "sudo modprobe nvidia-peermem"};

constexpr Version dmabuf_since = {5, 12, 0};

bool dmabuf_kernel(const Machine& machine) {
  const auto kernel = read_kernel_version(machine);
  return kernel && *kernel >= dmabuf_since;
}

/// Checks the same places as RCCL, because the driver creates its folder in any of them.
bool amd_peer_memory(const Machine& machine) {
  constexpr std::array<const char*, 3> files = {"sys/kernel/mm/memory_peers/amdkfd/version",
                                                "sys/kernel/memory_peers/amdkfd/version",
                                                "sys/memory_peers/amdkfd/version"};
  for (const char* file : files) {
    if (machine.exists(file)) return true;
  }
  return false;
}

Finding look_amd(const CheckContext& context) {
  const Machine& machine = context.machine;
  if (amd_peer_memory(machine)) return passed(amd_advice, "peer memory (amdkfd)", "AMD");
  if (!dmabuf_kernel(machine)) {
    if (!read_kernel_version(machine)) {
      return unknown(amd_advice, "the kernel version was not found", "AMD");
    }
    return bad(context.intent.multi_node, amd_advice,
               "no peer memory, and the kernel has no dma-buf for RDMA", "AMD");
  }
  const std::string release = read_fact(machine, "proc/sys/kernel/osrelease").value_or("");
  const Reading options = read_setting(machine, "boot/config-" + release);
  if (!options.text) {
    return unknown(amd_advice,
                   "no peer memory, and the kernel's options cannot be read: " + options.why_not,
                   "AMD");
  }
  for (const char* option : {"CONFIG_DMABUF_MOVE_NOTIFY=y", "CONFIG_PCI_P2PDMA=y"}) {
    if (options.text->find(option) == std::string::npos) {
      return bad(context.intent.multi_node, amd_advice,
                 std::string("no peer memory, and the kernel lacks ") + option, "AMD");
    }
  }
  if (variable(context, "NCCL_DMABUF_ENABLE") == "0") {
    return bad(context.intent.multi_node, amd_advice, "dma-buf, turned off by NCCL_DMABUF_ENABLE=0",
               "AMD");
  }
  return passed(amd_advice, "dma-buf", "AMD");
}

Finding look_nvidia(const CheckContext& context) {
  const Machine& machine = context.machine;
  for (const char* module : {"sys/module/nvidia_peermem", "sys/module/nv_peer_mem"}) {
    if (machine.exists(module)) return passed(nvidia_advice, "peer memory", "NVIDIA");
  }
  const Reading driver = read_setting(machine, "proc/driver/nvidia/version");
  if (!driver.text) {
    return unknown(nvidia_advice, "no nvidia_peermem, and " + driver.why_not, "NVIDIA");
  }
  if (driver.text->find("Open Kernel Module") != std::string::npos && dmabuf_kernel(machine)) {
    return passed(nvidia_advice, "dma-buf (open kernel modules)", "NVIDIA");
  }
  return bad(context.intent.multi_node, nvidia_advice,
             "neither nvidia_peermem nor open kernel modules", "NVIDIA");
}

std::vector<Finding> run(const CheckContext& context) {
  if (read_nics(context.machine).empty()) return {};
  std::vector<Finding> findings;
  if (context.has("amd")) findings.push_back(look_amd(context));
  if (context.has("nvidia")) findings.push_back(look_nvidia(context));
  return findings;
}

const CheckRegistry::Add registered{{"gpudirect-rdma", "GPUDirect RDMA", Topic::network, &run}};

}  // namespace
}  // namespace assay::gpudirect_rdma_check
