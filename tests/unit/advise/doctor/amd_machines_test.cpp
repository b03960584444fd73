// What assay doctor finds on Instinct machines, every line of it: the faults that machines.h names,
// and nothing else. Advice is that of ROCm's workload and MI300X system optimization guides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machines/machines.h"
#include "unit/doctor_test.h"

namespace assay {
namespace {

using testing::ElementsAre;

// clang-format off
TEST(DoctorMachine, Mi300xAsDelivered) {
  EXPECT_THAT(lines(mi300x_spx()),
              ElementsAre(
                  "WARN acs: needs root: the ACS registers of 32 bridges; IOMMU groups per device show that ACS was on at boot",
                  "WARN c-states: C2 enabled, exit latency 800 us",
                  "PASS clock-source: tsc",
                  "WARN cpu-governor: schedutil",
                  "PASS cpu-nps: 2 nodes, 2 sockets",
                  "FAIL iommu: translating (DMA-FQ)",
                  "FAIL numa-balancing: 1",
                  "WARN pci-realloc: not set",
                  "WARN smt: on",
                  "PASS transparent-huge-pages: madvise",
                  "PASS cgroup-throttling: no quota",
                  "PASS cpu-quota: no quota",
                  "FAIL memlock: 8192 KiB",
                  "PASS shared-memory: half of the memory, the kernel's default",
                  "PASS device-permissions [/dev/kfd, /dev/dri/renderD128-134]: may be opened",
                  "FAIL device-permissions [/dev/dri/renderD135]: permission denied",
                  "PASS ecc [GPU 0-7]: on",
                  "PASS gpu-clocks [8 x AMD Instinct MI300X]: now at 2.013 GHz to 2.100 GHz",
                  "PASS gpu-driver [0000:13:00.0, 0000:23:00.0, 0000:33:00.0, 0000:43:00.0, 4 more]: amdgpu",
                  "PASS large-bar [GPU 0, 2-7]: all of 192.0 GiB",
                  "FAIL large-bar [GPU 1 (0000:23:00.0)]: 256 MiB of 192.0 GiB",
                  "PASS memory-errors [GPU 0-1, 3-7]: none",
                  "WARN memory-errors [GPU 2 (0000:33:00.0)]: 3 correctable errors",
                  "PASS partition-mode [GPU 0-7]: SPX/NPS1",
                  "PASS pcie-link [GPU 0-2, 4-7]: 32 GT/s x16",
                  "FAIL pcie-link [GPU 3 (0000:43:00.0)]: 32 GT/s x8 of 32 GT/s x16",
                  "PASS performance-level [GPU 0-7]: auto",
                  "PASS power-cap [GPU 0-4, 6-7]: 750 W of 750 W",
                  "FAIL power-cap [GPU 5 (0000:63:00.0)]: 650 W of 750 W",
                  "UNKNOWN throttling [GPU 0-7]: gpu_metrics 1.5 has no throttle counters",
                  "PASS xcd-clocks [GPU 0-5, 7]: 8 XCDs at 2.100 GHz to 2.100 GHz",
                  "FAIL xcd-clocks [GPU 6 (0000:73:00.0)]: 8 XCDs at 1.400 GHz to 2.100 GHz",
                  "PASS gpu-links [GPU 0-3, 5-7]: 7 xGMI links up",
                  "FAIL gpu-links [GPU 4 (0000:53:00.0)]: no xGMI link to GPU 7",
                  "PASS mesh-collectives: 8 of 8 GPUs",
                  "PASS debug-variables: none",
                  "WARN hip-force-dev-kernarg: not set, ROCm 6.1.2",
                  "WARN hsa-cpu-affinity: HSA_OVERRIDE_CPU_AFFINITY_DEBUG not set",
                  "WARN hsa-no-scratch-reclaim: HSA_NO_SCRATCH_RECLAIM not set, MEC firmware 156",
                  "WARN nccl-min-nchannels: NCCL_MIN_NCHANNELS not set",
                  "PASS runtimes [HIP runtime]: /opt/rocm-6.1.2/lib/libamdhip64.so.6.1.60102",
                  "WARN torch-prefer-hipblaslt: not set, ROCm 6.1.2",
                  "PASS gpu-nic-affinity [GPU 0-6]: a NIC behind the same switch",
                  "PASS gpu-nic-affinity [GPU 7 (0000:83:00.0)]: a NIC on the same NUMA node",
                  "PASS gpudirect-rdma [AMD]: peer memory (amdkfd)",
                  "PASS nic-gid [mlx5_0-6]: RoCE v2 at index 3",
                  "PASS nic-link [mlx5_0-6]: ACTIVE, 400 Gb/s, Ethernet",
                  "WARN nic-link [mlx5_7]: DOWN, 400 Gb/s, Ethernet",
                  "WARN nic-mtu [mlx5_0-6]: 1500",
                  "PASS rdma-permissions [/dev/infiniband/uverbs0-7]: may be opened",
                  "n/a gpu-max-hw-queues torch-nccl-high-priority visible-devices named-interfaces"));
}

TEST(DoctorMachine, Mi300xPartitioned) {
  EXPECT_THAT(lines(mi300x_cpx()),
              ElementsAre(
                  "PASS acs: off on 24 bridges",
                  "PASS c-states: none",
                  "PASS clock-source: tsc",
                  "PASS cpu-governor: performance",
                  "PASS cpu-nps: 2 nodes, 2 sockets",
                  "PASS iommu: pass-through (identity)",
                  "PASS numa-balancing: 0",
                  "PASS pci-realloc: set",
                  "PASS smt: off",
                  "PASS transparent-huge-pages: madvise",
                  "PASS cgroup-throttling: no quota",
                  "PASS cpu-quota: no quota",
                  "PASS memlock: unlimited",
                  "PASS shared-memory: half of the memory, the kernel's default",
                  "PASS device-permissions [/dev/kfd, /dev/dri/renderD128-191]: may be opened",
                  "PASS ecc [GPU 0-7]: on",
                  "UNKNOWN gpu-clocks [8 x AMD Instinct MI300X]: not all busy: read again under load",
                  "PASS gpu-driver [0000:13:00.0, 0000:23:00.0, 0000:33:00.0, 0000:43:00.0, 4 more]: amdgpu",
                  "PASS large-bar [GPU 0-7]: all of 192.0 GiB",
                  "PASS memory-errors [GPU 0-7]: none",
                  "WARN partition-mode [GPU 0-7]: CPX/NPS4",
                  "PASS pcie-link [GPU 0-7]: 32 GT/s x16",
                  "PASS performance-level [GPU 0-7]: auto",
                  "PASS power-cap [GPU 0-7]: 750 W of 750 W",
                  "PASS throttling [GPU 0, 2-7]: no heat or brake since the driver was loaded",
                  "WARN throttling [GPU 1 (0000:23:00.0)]: heat of the socket limited the clock for 2.5% of the time since the driver was loaded",
                  "UNKNOWN xcd-clocks [GPU 0-7]: idle, where clocks mean nothing: read again under load",
                  "PASS gpu-links [GPU 0-7]: 7 xGMI links up",
                  "WARN debug-variables: AMD_LOG_LEVEL=3",
                  "PASS hsa-cpu-affinity: HSA_OVERRIDE_CPU_AFFINITY_DEBUG=0",
                  "PASS hsa-no-scratch-reclaim: not needed: MEC firmware 177 or newer",
                  "PASS nccl-min-nchannels: NCCL_MIN_NCHANNELS=112",
                  "WARN runtimes [HIP runtime]: 2 versions: /opt/rocm-6.4.1/lib/libamdhip64.so.6.4.60401, /venv/lib/python3.12/site-packages/torch/lib/libamdhip64.so",
                  "n/a mesh-collectives gpu-max-hw-queues hip-force-dev-kernarg torch-nccl-high-priority torch-prefer-hipblaslt visible-devices gpu-nic-affinity gpudirect-rdma named-interfaces nic-gid nic-link nic-mtu rdma-permissions"));
}

TEST(DoctorMachine, Mi355x) {
  EXPECT_THAT(lines(mi355x()),
              ElementsAre(
                  "WARN acs: 32 of 32 bridges redirect peer-to-peer traffic",
                  "PASS c-states: none",
                  "PASS clock-source: tsc",
                  "PASS cpu-governor: performance",
                  "PASS iommu: pass-through (identity)",
                  "PASS numa-balancing: 0",
                  "PASS transparent-huge-pages: madvise",
                  "PASS cgroup-throttling: no quota",
                  "PASS cpu-quota: no quota",
                  "PASS memlock: unlimited",
                  "PASS shared-memory: half of the memory, the kernel's default",
                  "PASS device-permissions [/dev/kfd, /dev/dri/renderD128-135]: may be opened",
                  "PASS ecc [GPU 0-7]: on",
                  "PASS gpu-clocks [8 x AMD Instinct MI355X]: now at 2.350 GHz to 2.350 GHz",
                  "PASS gpu-driver [0000:13:00.0, 0000:23:00.0, 0000:33:00.0, 0000:43:00.0, 4 more]: amdgpu",
                  "PASS large-bar [GPU 0-7]: all of 288.0 GiB",
                  "PASS memory-errors [GPU 0-7]: none",
                  "PASS partition-mode [GPU 0-7]: SPX/NPS1",
                  "PASS pcie-link [GPU 0-7]: 32 GT/s x16",
                  "PASS performance-level [GPU 0-7]: auto",
                  "PASS power-cap [GPU 0-7]: 1400 W of 1400 W",
                  "PASS throttling [GPU 0-7]: no heat or brake since the driver was loaded",
                  "PASS xcd-clocks [GPU 0-7]: 8 XCDs at 2.350 GHz to 2.350 GHz",
                  "PASS gpu-links [GPU 0-7]: 7 xGMI links up",
                  "PASS mesh-collectives: 8 of 8 GPUs",
                  "PASS debug-variables: none",
                  "PASS runtimes [HIP runtime]: /opt/rocm-7.0.2/lib/libamdhip64.so.7.0.70002",
                  "PASS gpu-nic-affinity [GPU 0-7]: a NIC behind the same switch",
                  "PASS gpudirect-rdma [AMD]: dma-buf",
                  "PASS nic-gid [mlx5_0-7]: RoCE v2 at index 3",
                  "PASS nic-link [mlx5_0-7]: ACTIVE, 400 Gb/s, Ethernet",
                  "PASS nic-mtu [mlx5_0-7]: 9000",
                  "PASS rdma-permissions [/dev/infiniband/uverbs0-7]: may be opened",
                  "n/a cpu-nps pci-realloc smt gpu-max-hw-queues hip-force-dev-kernarg hsa-cpu-affinity hsa-no-scratch-reclaim nccl-min-nchannels torch-nccl-high-priority torch-prefer-hipblaslt visible-devices named-interfaces"));
}

TEST(DoctorMachine, VirtualFunctionInAGuest) {
  EXPECT_THAT(lines(vf_in_vm()),
              ElementsAre(
                  "UNKNOWN acs: a virtual machine does not see its host's bridges",
                  "PASS clock-source: kvm-clock",
                  "UNKNOWN iommu: a virtual machine does not see its host's IOMMU",
                  "PASS numa-balancing: 1, without effect on one NUMA node",
                  "PASS transparent-huge-pages: always",
                  "PASS cgroup-throttling: no quota",
                  "PASS cpu-quota: no quota",
                  "PASS memlock: unlimited",
                  "PASS shared-memory: half of the memory, the kernel's default",
                  "FAIL device-permissions [/dev/kfd, /dev/dri/renderD128]: permission denied",
                  "UNKNOWN ecc [GPU 0 (0000:13:00.0)]: a virtual function does not show it; its host sets it",
                  "PASS gpu-driver [0000:13:00.0]: amdgpu",
                  "PASS large-bar [GPU 0 (0000:13:00.0)]: all of 192.0 GiB",
                  "UNKNOWN memory-errors [GPU 0 (0000:13:00.0)]: a virtual function does not show its host's counters",
                  "PASS partition-mode [GPU 0 (0000:13:00.0)]: SPX",
                  "UNKNOWN pcie-link [GPU 0 (0000:13:00.0)]: a virtual function does not show its host's link",
                  "PASS performance-level [GPU 0 (0000:13:00.0)]: auto",
                  "UNKNOWN power-cap [GPU 0 (0000:13:00.0)]: a virtual function does not show the limit; its host sets it",
                  "UNKNOWN throttling [GPU 0 (0000:13:00.0)]: gpu_metrics 1.4 has no throttle counters",
                  "UNKNOWN xcd-clocks [GPU 0 (0000:13:00.0)]: 8 XCDs at 2.100 GHz to 2.100 GHz, and it is not known whether the GPU is busy",
                  "PASS debug-variables: none",
                  "UNKNOWN hip-force-dev-kernarg: not set, and no ROCm version was found in /opt/rocm: it is the default since 6.2",
                  "UNKNOWN runtimes: the capture or folder has no list of this machine's libraries",
                  "UNKNOWN torch-prefer-hipblaslt: not set, and no ROCm version was found in /opt/rocm: it is PyTorch's default since ROCm 6.4.0",
                  "n/a c-states cpu-governor cpu-nps pci-realloc smt gpu-clocks gpu-links mesh-collectives gpu-max-hw-queues hsa-cpu-affinity hsa-no-scratch-reclaim nccl-min-nchannels torch-nccl-high-priority visible-devices gpu-nic-affinity gpudirect-rdma named-interfaces nic-gid nic-link nic-mtu rdma-permissions"));
}
// clang-format on

}  // namespace
}  // namespace assay
