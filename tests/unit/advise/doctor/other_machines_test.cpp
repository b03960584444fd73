// What assay doctor finds on machines without AMD GPUs, every line of it: the faults that
// machines.h names, and nothing else. A tree of rubbish gives reasons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "machines/machines.h"
#include "unit/doctor_test.h"

namespace assay {
namespace {

using testing::ElementsAre;

// clang-format off
TEST(DoctorMachine, H200Node) {
  EXPECT_THAT(lines(h200_node()),
              ElementsAre(
                  "UNKNOWN acs: needs root: the ACS registers of 32 bridges",
                  "PASS c-states: none",
                  "PASS clock-source: tsc",
                  "PASS cpu-governor: performance",
                  "PASS iommu: off: the GPUs are in no IOMMU group",
                  "PASS numa-balancing: 0",
                  "PASS transparent-huge-pages: madvise",
                  "PASS cgroup-throttling: no quota",
                  "PASS cpu-quota: no quota",
                  "FAIL memlock: 64 KiB",
                  "FAIL shared-memory: 64 MiB",
                  "PASS device-permissions [/dev/nvidiactl, /dev/nvidia0-7]: may be opened",
                  "PASS ecc [GPU 0-7]: on",
                  "FAIL gpu-clocks [8 x NVIDIA H200]: now at 1.200 GHz to 1.755 GHz",
                  "PASS gpu-driver [0000:13:00.0, 0000:23:00.0, 0000:33:00.0, 0000:43:00.0, 4 more]: nvidia",
                  "PASS large-bar [GPU 0-7]: all of 140.4 GiB",
                  "PASS memory-errors [GPU 0-5, 7]: none",
                  "FAIL memory-errors [GPU 6 (0000:73:00.0)]: 1 uncorrectable error",
                  "PASS pcie-link [GPU 0-7]: 32 GT/s x16",
                  "PASS power-cap [GPU 0-7]: 700 W of 700 W",
                  "PASS throttling [GPU 0-1, 3-7]: sw_power_cap",
                  "FAIL throttling [GPU 2 (0000:33:00.0)]: sw_power_cap,hw_thermal_slowdown",
                  "PASS gpu-links [GPU 0-2, 4-7]: 18 NVLink links up",
                  "FAIL gpu-links [GPU 3 (0000:43:00.0)]: 2 of 18 NVLink links down",
                  "PASS debug-variables: none",
                  "PASS runtimes [CUDA runtime]: /usr/local/cuda-13.0/lib64/libcudart.so.13.0.96",
                  "PASS runtimes [CUDA driver library]: /usr/lib/x86_64-linux-gnu/libcuda.so.580.159",
                  "PASS gpu-nic-affinity [GPU 0-7]: a NIC behind the same switch",
                  "PASS gpudirect-rdma [NVIDIA]: dma-buf (open kernel modules)",
                  "PASS nic-link [mlx5_0-7]: ACTIVE, 400 Gb/s, InfiniBand",
                  "PASS rdma-permissions [/dev/infiniband/uverbs0-7]: may be opened",
                  "n/a cpu-nps pci-realloc smt partition-mode performance-level xcd-clocks mesh-collectives gpu-max-hw-queues hip-force-dev-kernarg hsa-cpu-affinity hsa-no-scratch-reclaim nccl-min-nchannels torch-nccl-high-priority torch-prefer-hipblaslt visible-devices named-interfaces nic-gid nic-mtu"));
}

TEST(DoctorMachine, CpuContainer) {
  EXPECT_THAT(lines(cpu_container()),
              ElementsAre(
                  "FAIL clock-source: hpet",
                  "UNKNOWN cpu-governor: /sys/devices/system/cpu/cpufreq: no policies: the firmware or the hypervisor chooses the clock",
                  "WARN numa-balancing: 1",
                  "WARN transparent-huge-pages: never",
                  "FAIL cgroup-throttling: 300 of 1000 periods throttled",
                  "WARN cpu-quota: quota of 2 CPUs, 16 visible",
                  "n/a acs c-states cpu-nps iommu pci-realloc smt memlock shared-memory device-permissions ecc gpu-clocks gpu-driver large-bar memory-errors partition-mode pcie-link performance-level power-cap throttling xcd-clocks gpu-links mesh-collectives debug-variables gpu-max-hw-queues hip-force-dev-kernarg hsa-cpu-affinity hsa-no-scratch-reclaim nccl-min-nchannels runtimes torch-nccl-high-priority torch-prefer-hipblaslt visible-devices gpu-nic-affinity gpudirect-rdma named-interfaces nic-gid nic-link nic-mtu rdma-permissions"));
}

TEST(DoctorMachine, MalformedFilesGiveReasons) {
  EXPECT_THAT(lines(malformed()),
              ElementsAre(
                  "UNKNOWN acs: the configuration space of 32 bridges cannot be read",
                  "UNKNOWN c-states: /sys/devices/system/cpu/cpu0/cpuidle/state0/disable: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN clock-source: /sys/devices/system/clocksource/clocksource0/current_clocksource: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN cpu-governor: /sys/devices/system/cpu/cpufreq/policy0/scaling_governor: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN cpu-nps: nodes and sockets are not visible in /sys",
                  "UNKNOWN iommu: /sys/kernel/iommu_groups/3/type: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN numa-balancing: /proc/sys/kernel/numa_balancing: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN pci-realloc: /proc/cmdline: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN smt: /sys/devices/system/cpu/smt/active: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN transparent-huge-pages: /sys/kernel/mm/transparent_hugepage/enabled: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN cgroup-throttling: /sys/fs/cgroup/box/cpu.stat: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN cpu-quota: /sys/fs/cgroup/box/cpu.max: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN memlock: /proc/self/limits: not text: \"?ELF?\??\? not what it was\"",
                  "UNKNOWN shared-memory: /proc/self/mounts: not text: \"?ELF?\??\? not what it was\"",
                  "PASS device-permissions [/dev/kfd]: may be opened",
                  "PASS ecc [GPU 0-7]: on",
                  "UNKNOWN ecc [GPU 0]: the driver does not report it",
                  "UNKNOWN gpu-clocks [8 x ?ELF?\??\? not what it was]: the driver does not report every GPU's clock",
                  "PASS gpu-driver [0000:13:00.0, 0000:23:00.0, 0000:33:00.0, 0000:43:00.0, 4 more]: amdgpu",
                  "UNKNOWN large-bar [GPU 0-7]: the driver does not report the size of the memory",
                  "UNKNOWN memory-errors [GPU 0-7]: the driver shows no error counters, or needs root for them",
                  "UNKNOWN partition-mode [GPU 0-7]: unknown mode \"?ELF?\??\? not what it was/?ELF?\??\? not wh...\"",
                  "UNKNOWN pcie-link [GPU 0-7]: the kernel does not report width and speed",
                  "UNKNOWN performance-level [GPU 0-7]: unknown level \"?ELF?\??\? not what it was\"",
                  "UNKNOWN power-cap [GPU 0-7]: the driver does not report the limit",
                  "UNKNOWN throttling [GPU 0 (0000:13:00.0)]: gpu_metrics is cut short: 100 of 360 bytes",
                  "UNKNOWN throttling [GPU 1 (0000:23:00.0)]: gpu_metrics 1.42 is not a version assay reads (1.3 to 1.9)",
                  "UNKNOWN throttling [GPU 2 (0000:33:00.0)]: gpu_metrics is cut short: 1 of 65535 bytes",
                  "UNKNOWN throttling [GPU 3 (0000:43:00.0)]: gpu_metrics is cut short: 0 of 65535 bytes",
                  "UNKNOWN throttling [GPU 4 (0000:53:00.0)]: gpu_metrics: the kernel refuses to read it",
                  "UNKNOWN throttling [GPU 5-7]: gpu_metrics is cut short: 24 of 17791 bytes",
                  "UNKNOWN throttling [GPU 0]: the driver does not report it",
                  "UNKNOWN xcd-clocks [GPU 0 (0000:13:00.0)]: gpu_metrics is cut short: 100 of 360 bytes",
                  "UNKNOWN xcd-clocks [GPU 1 (0000:23:00.0)]: gpu_metrics 1.42 is not a version assay reads (1.3 to 1.9)",
                  "UNKNOWN xcd-clocks [GPU 2 (0000:33:00.0)]: gpu_metrics is cut short: 1 of 65535 bytes",
                  "UNKNOWN xcd-clocks [GPU 3 (0000:43:00.0)]: gpu_metrics is cut short: 0 of 65535 bytes",
                  "UNKNOWN xcd-clocks [GPU 4 (0000:53:00.0)]: gpu_metrics: the kernel refuses to read it",
                  "UNKNOWN xcd-clocks [GPU 5-7]: gpu_metrics is cut short: 24 of 17791 bytes",
                  "UNKNOWN gpu-links: no xGMI links in /sys/class/kfd: without access to /dev/kfd they are hidden",
                  "PASS debug-variables: none",
                  "UNKNOWN hip-force-dev-kernarg: not set, and no ROCm version was found in /opt/rocm: it is the default since 6.2",
                  "WARN hsa-cpu-affinity: HSA_OVERRIDE_CPU_AFFINITY_DEBUG not set",
                  "UNKNOWN hsa-no-scratch-reclaim: HSA_NO_SCRATCH_RECLAIM not set, and the driver does not report the MEC firmware's version",
                  "WARN nccl-min-nchannels: NCCL_MIN_NCHANNELS not set",
                  "UNKNOWN runtimes [HIP runtime]: not found in the usual library folders",
                  "UNKNOWN torch-prefer-hipblaslt: not set, and no ROCm version was found in /opt/rocm: it is PyTorch's default since ROCm 6.4.0",
                  "PASS gpudirect-rdma [AMD]: peer memory (amdkfd)",
                  "UNKNOWN nic-link [mlx5_0-7]: unknown state \"?ELF?\??\? not what it was\"",
                  "PASS rdma-permissions [/dev/infiniband/uverbs0-7]: may be opened",
                  "n/a mesh-collectives gpu-max-hw-queues torch-nccl-high-priority visible-devices gpu-nic-affinity named-interfaces nic-gid nic-mtu"));
}
// clang-format on

/// Cuts files short and changes bytes in them, as the seed says.
void damage(MemoryMachine& machine, std::uint32_t seed) {
  std::mt19937 random(seed);
  machine.change_files([&](const std::string&, std::string text) {
    if (random() % 4 == 0) text.resize(random() % (text.size() + 1));
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (random() % 16 == 0) text[i] = static_cast<char>(random());
    }
    return text;
  });
}

TEST(DoctorMachine, DamagedFilesNeverCrash) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    for (MemoryMachine machine : {mi300x_spx(), mi300x_cpx(), mi355x(), vf_in_vm(), h200_node(),
                                  cpu_container(), malformed()}) {
      damage(machine, seed);
      for (const std::string& line : lines(machine)) EXPECT_EQ(line.find('\x7f'), line.npos);
    }
  }
}

}  // namespace
}  // namespace assay
