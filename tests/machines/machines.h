// Seven invented machines for the doctor. Each is typical of its kind and has faults of its own,
// which the code that makes them names.
#pragma once

#include "machine/system/gpu.h"
#include "machines/amd_gpus.h"

namespace assay {

/// The machines are as delivered, with the defaults of distribution and BIOS; several GPUs have one
/// fault each.
inline MemoryMachine mi300x_spx() {
  MemoryMachine machine;
  Host host;
  host.numa_balancing = 1;
  host.command_line = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro";
  host.governor = "schedutil";
  host.smt = true;
  host.deep_sleep = true;
  host.locked_memory = "8388608";
  add_host(machine, host);
  Bridges bridges;  // no privileges
  bridges.iommu = "DMA-FQ";
  AmdNode node;
  node.busy_percent = 100;
  node.mec_firmware = "0x0000009c";
  add_amd_node(machine, node, bridges);
  for (int number = 0; number < 8; ++number) {
    NicFacts nic;
    nic.mtu = 1500;
    if (number == 7) nic.state = "1: DOWN";
    add_nic(machine, number, bridges, nic);
  }
  machine.write("opt/rocm/.info/version", "6.1.2-119\n");
  machine.write("sys/kernel/mm/memory_peers/amdkfd/version", "1.0\n");
  machine.answer(
      "libraries",
      {{"hip",
        {{{"path", "/opt/rocm-6.1.2/lib/libamdhip64.so.6.1.60102"}, {"version", "6.1.60102"}}}}});
  machine.write(amd_folder(1) + "/mem_info_vis_vram_total", "268435456\n");
  machine.write(amd_folder(2) + "/ras/umc_err_count", "ue: 0\nce: 3\n");
  machine.write(amd_folder(3) + "/current_link_width", "8\n");
  machine.erase("sys/class/kfd/kfd/topology/nodes/6/io_links/6/properties");  // GPU 4 to GPU 7
  machine.write(amd_folder(5) + "/hwmon/hwmon3/power1_cap", "650000000\n");
  machine.write(amd_folder(6) + "/gpu_metrics", MetricsTable(5).clocks(2100, 4, 1400).bytes());
  machine.device("dev/dri/renderD135", FileState::denied);
  return machine;
}

/// Well tuned and partitioned; read as root.
inline MemoryMachine mi300x_cpx() {
  MemoryMachine machine;
  add_host(machine, Host());
  Bridges bridges;
  bridges.root = true;
  bridges.iommu = "identity";
  AmdNode node;
  node.model.metrics_version = 6;
  node.compute_partition = "CPX";
  node.memory_partition = "NPS4";
  node.partitions = 8;
  add_amd_node(machine, node, bridges);
  for (int gpu = 0; gpu < 8; ++gpu) {
    machine.write(amd_folder(gpu) + "/gpu_metrics",
                  MetricsTable(6).clocks(132).throttled(1000000, gpu == 1 ? 25000 : 0).bytes());
  }
  machine.write("opt/rocm/.info/version", "6.4.1-83\n");
  machine.set("HSA_OVERRIDE_CPU_AFFINITY_DEBUG", "0");
  machine.set("NCCL_MIN_NCHANNELS", "112");
  machine.set("AMD_LOG_LEVEL", "3");
  machine.answer(
      "libraries",
      {{"hip",
        {{{"path", "/opt/rocm-6.4.1/lib/libamdhip64.so.6.4.60401"}, {"version", "6.4.60401"}},
         {{"path", "/venv/lib/python3.12/site-packages/torch/lib/libamdhip64.so"}}}}});
  return machine;
}

/// One of several nodes, tuned for RDMA through dma-buf, but with ACS as the BIOS set it.
inline MemoryMachine mi355x() {
  MemoryMachine machine;
  Host host;
  host.kernel = "6.8.0-60-generic";
  host.smt = true;  // no advice against it applies to this host
  add_host(machine, host);
  Bridges bridges;
  bridges.root = true;
  bridges.acs_control = 0x1d;  // SrcValid, ReqRedir, CmpltRedir, UpstreamFwd
  bridges.iommu = "identity";
  AmdNode node;
  node.model = mi355x_model;
  node.busy_percent = 98;
  add_amd_node(machine, node, bridges);
  for (int number = 0; number < 8; ++number) {
    machine.write(amd_folder(number) + "/gpu_metrics",
                  MetricsTable(8).clocks(2350).throttled(1000000, 0).bytes());
    add_nic(machine, number, bridges, NicFacts());
  }
  machine.write("opt/rocm/.info/version", "7.0.2\n");
  machine.write("boot/config-6.8.0-60-generic",
                "CONFIG_PCI_P2PDMA=y\nCONFIG_DMABUF_MOVE_NOTIFY=y\n");
  machine.answer(
      "libraries",
      {{"hip",
        {{{"path", "/opt/rocm-7.0.2/lib/libamdhip64.so.7.0.70002"}, {"version", "7.0.70002"}}}}});
  return machine;
}

/// A guest with one virtual function of an MI300X, whose user is in no group.
inline MemoryMachine vf_in_vm() {
  MemoryMachine machine;
  Host host;
  host.sockets = 1;
  host.cpus = 13;
  host.numa_balancing = 1;
  host.command_line = "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro";
  host.governor = "";
  host.clock_source = "kvm-clock";
  host.huge_pages = "[always] madvise never";
  add_host(machine, host);
  machine.write("sys/class/dmi/id/sys_vendor", "QEMU\n");
  machine.answer("hypervisor", "KVMKVMKVM");
  AmdNode node;
  node.gpus = 1;
  node.model.device_id = "74b5";
  node.model.name = "AMD Instinct MI300X VF";
  node.model.metrics_version = 4;
  add_amd_node(machine, node, Bridges());
  for (const char* file :
       {"current_link_speed", "max_link_speed", "current_link_width", "max_link_width",
        "ras/umc_err_count", "ras/gfx_err_count", "hwmon/hwmon3/power1_cap", "hwmon/hwmon3/name",
        "hwmon/hwmon3/power1_cap_default", "hwmon/hwmon3/power1_cap_max", "pcie_replay_count",
        "hwmon/hwmon3/power1_input", "current_memory_partition", "fw_version/mec_fw_version"}) {
    machine.erase(amd_folder(0) + "/" + file);
  }
  machine.withhold(amd_folder(0) + "/gpu_busy_percent", FileState::failed);
  machine.device("dev/kfd", FileState::denied);
  machine.device("dev/dri/renderD128", FileState::denied);
  return machine;
}

inline Gpu h200(int index) {
  const Slot slot{index, 0};
  Gpu gpu;
  gpu.vendor = "nvidia";
  gpu.index = index;
  gpu.name = "NVIDIA H200";
  gpu.arch = "sm_90";
  gpu.pci = slot.card();
  gpu.uuid = fmt::format("GPU-{}", index);
  gpu.memory_bytes = 150754820096;
  gpu.visible_memory_bytes = 274877906944;
  gpu.compute_partitions = "MIG";
  gpu.ecc = true;
  gpu.power_cap_watts = gpu.power_cap_default_watts = gpu.power_cap_max_watts = 700;
  gpu.clock_max_hz = 1.98e9;
  gpu.pcie = {32, 32, 16, 16};
  gpu.numa_node = slot.socket();
  gpu.device_files = {fmt::format("dev/nvidia{}", index)};
  for (int link = 0; link < 18; ++link) gpu.links.push_back({"nvlink", "switch", true, 26.562e9});
  gpu.state.engine_clocks_hz = {1.755e9};
  gpu.state.throttle_reasons = "sw_power_cap";
  gpu.state.correctable_errors = gpu.state.uncorrectable_errors = gpu.state.retired_pages = 0;
  gpu.state.utilisation_percent = 100;
  return gpu;
}

/// 8 GPUs behind NVSwitches and 8 InfiniBand ports, seen from a container with too few resources.
inline MemoryMachine h200_node() {
  MemoryMachine machine;
  Host host;
  host.shm = "rw,nosuid,nodev,noexec,relatime,size=65536k";
  host.locked_memory = "65536";
  host.kernel = "6.8.0-60-generic";
  host.command_line = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro";
  add_host(machine, host);
  machine.write(".dockerenv", "");
  machine.write("sys/bus/pci/drivers/nvidia/uevent", "");
  Json gpus = Json::array();
  for (int index = 0; index < 8; ++index) {
    Gpu gpu = h200(index);
    if (index == 2) gpu.state.throttle_reasons = "sw_power_cap,hw_thermal_slowdown";
    if (index == 2) gpu.state.engine_clocks_hz = {1.2e9};
    if (index == 3) gpu.links[4].up = gpu.links[5].up = false;
    if (index == 6) gpu.state.uncorrectable_errors = 1;
    gpus.push_back(to_json(gpu, true));
    const Bridges bridges;
    add_slot(machine, Slot{index, 0}, bridges);
    machine.write(Slot{index, 0}.folder() + "/vendor", "0x10de\n");
    machine.write(Slot{index, 0}.folder() + "/class", "0x030200\n");
    machine.link(Slot{index, 0}.folder() + "/driver", "sys/bus/pci/drivers/nvidia");
    machine.device(fmt::format("dev/nvidia{}", index));
    NicFacts nic;
    nic.link_layer = "InfiniBand";
    add_nic(machine, index, bridges, nic);
  }
  machine.device("dev/nvidiactl");
  machine.answer("nvidia", {{"driver", "580.159"}, {"gpus", std::move(gpus)}});
  machine.answer(
      "libraries",
      {{"cudart",
        {{{"path", "/usr/local/cuda-13.0/lib64/libcudart.so.13.0.96"}, {"version", "13.0.96"}}}},
       {"cuda",
        {{{"path", "/usr/lib/x86_64-linux-gnu/libcuda.so.580.159"}, {"version", "580.159"}}}}});
  machine.write("proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159\n");
  return machine;
}

/// No GPU, a CPU quota and a slow clock source.
inline MemoryMachine cpu_container() {
  MemoryMachine machine;
  Host host;
  host.cpus = 16;
  host.numa_balancing = 1;
  host.governor = "";
  host.clock_source = "hpet";
  host.huge_pages = "always madvise [never]";
  host.cpu_max = "200000 100000";
  host.locked_memory = "65536";
  add_host(machine, host);
  machine.write(".dockerenv", "");
  machine.write("sys/fs/cgroup/box/cpu.stat",
                "usage_usec 1\nnr_periods 1000\nnr_throttled 300\nthrottled_usec 9\n");
  return machine;
}

/// mi300x_spx in which every file that does not shape the tree holds something malformed.
inline MemoryMachine malformed() {
  MemoryMachine machine = mi300x_spx();
  const std::string rubbish("\x7f\x45\x4c\x46\xff\xfe\x00\x01 not what it was", 24);
  machine.change_files([&](const std::string& path, const std::string& text) {
    const bool shape = path.ends_with("/vendor") || path.ends_with("/device") ||
                       path.ends_with("/class") || path.ends_with("proc/self/cgroup");
    return shape ? text : rubbish;
  });
  const std::string whole = MetricsTable(5).clocks(2100).bytes();
  std::string unknown_version = whole;
  unknown_version[3] = 42;
  machine.write(amd_folder(0) + "/gpu_metrics", whole.substr(0, 100));
  machine.write(amd_folder(1) + "/gpu_metrics", unknown_version);
  machine.write(amd_folder(2) + "/gpu_metrics", "\x01");
  machine.write(amd_folder(3) + "/gpu_metrics", "");
  machine.withhold(amd_folder(4) + "/gpu_metrics", FileState::failed);
  machine.answer("nvidia", {{"gpus", {42, {{"pci", 7}, {"links", "none"}, {"state", {1, 2}}}}}});
  machine.answer("libraries", {{"hip", "none"}, {"cuda", {1, {{"path", 3}}}}});
  return machine;
}

}  // namespace assay
