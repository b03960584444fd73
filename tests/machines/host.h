// The parts of invented machines that do not depend on the GPUs: CPU, kernel, control groups, NICs.
#pragma once

#include <fmt/format.h>

#include <string>

#include "machines/memory_machine.h"

namespace assay {

struct Host {
  int sockets = 2;
  int cpus = 192;
  int numa_balancing = 0;
  std::string command_line = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro iommu=pt pci=realloc=off";
  std::string kernel = "5.15.0-126-generic";
  std::string governor = "performance";
  bool smt = false;
  bool deep_sleep = false;  ///< C2 is enabled
  std::string clock_source = "tsc";
  std::string huge_pages = "always [madvise] never";
  std::string locked_memory = "unlimited";
  std::string cpu_max = "max 100000";
  std::string shm = "rw,nosuid,nodev";
};

inline void add_idle_states(MemoryMachine& machine, bool deep_sleep) {
  const std::string folder = "sys/devices/system/cpu/cpu0/cpuidle/state";
  const char* const names[] = {"POLL", "C1", "C2"};
  const int latencies[] = {0, 1, 800};
  for (int i = 0; i < 3; ++i) {
    machine.write(fmt::format("{}{}/name", folder, i), fmt::format("{}\n", names[i]));
    machine.write(fmt::format("{}{}/latency", folder, i), fmt::format("{}\n", latencies[i]));
    machine.write(fmt::format("{}{}/disable", folder, i), i == 2 && !deep_sleep ? "1\n" : "0\n");
  }
}

inline void add_host(MemoryMachine& machine, const Host& host) {
  const std::string cpus = "sys/devices/system/cpu/";
  machine.answer("uname", {{"release", host.kernel}});
  machine.write(cpus + "online", fmt::format("0-{}\n", host.cpus - 1));
  for (int node = 0; node < host.sockets; ++node) {
    const int first = node * host.cpus / host.sockets;
    machine.write(fmt::format("sys/devices/system/node/node{}/cpulist", node),
                  fmt::format("{}-{}\n", first, first + host.cpus / host.sockets - 1));
    machine.write(fmt::format("{}cpu{}/topology/physical_package_id", cpus, first),
                  fmt::format("{}\n", node));
  }
  if (!host.governor.empty()) {
    for (const int policy : {0, 1}) {
      machine.write(fmt::format("{}cpufreq/policy{}/scaling_governor", cpus, policy),
                    host.governor + "\n");
    }
    machine.write(cpus + "cpufreq/boost", "1\n");
    add_idle_states(machine, host.deep_sleep);
  }
  machine.write(cpus + "smt/active", host.smt ? "1\n" : "0\n");
  machine.write("proc/sys/kernel/numa_balancing", fmt::format("{}\n", host.numa_balancing));
  machine.write("proc/sys/kernel/osrelease", host.kernel + "\n");
  machine.write("proc/cmdline", host.command_line + "\n");
  machine.write("sys/kernel/mm/transparent_hugepage/enabled", host.huge_pages + "\n");
  machine.write("sys/devices/system/clocksource/clocksource0/current_clocksource",
                host.clock_source + "\n");
  machine.write("proc/self/limits",
                fmt::format("Limit                     Soft Limit           Hard Limit      Units\n"
                            "Max locked memory         {}              {}         bytes\n",
                            host.locked_memory, host.locked_memory));
  machine.write("proc/self/status", "Name:\tassay\nCapEff:\t0000000000000000\n");
  machine.write("proc/self/cgroup", "0::/box\n");
  machine.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  machine.write("sys/fs/cgroup/box/cpu.max", host.cpu_max + "\n");
  machine.write("sys/fs/cgroup/box/cpu.stat",
                "usage_usec 1\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  machine.write("proc/self/mounts",
                "overlay / overlay rw 0 0\nshm /dev/shm tmpfs " + host.shm + " 0 0\n");
}

/// A card behind a switch of its own: root port, the switch's two ports, the card. Slots count from
/// 0; `function` 0 is the GPU and 1 the NIC beside it.
struct Slot {
  int number = 0;
  int function = 0;

  int bus() const { return 0x10 + 0x10 * number; }
  std::string root_port() const { return fmt::format("0000:{:02x}:01.1", bus()); }
  std::string switch_up() const { return fmt::format("0000:{:02x}:00.0", bus() + 1); }
  std::string switch_down() const { return fmt::format("0000:{:02x}:0{}.0", bus() + 2, function); }
  std::string card() const { return fmt::format("0000:{:02x}:00.0", bus() + 3 + function); }
  std::string folder() const {
    return fmt::format("sys/devices/pci0000:{:02x}/{}/{}/{}/{}", bus(), root_port(), switch_up(),
                       switch_down(), card());
  }
  int socket() const { return number / 4; }
};

/// The configuration space that an unprivileged user may read, or all of it with an ACS capability.
inline std::string configuration_space(bool root, unsigned acs_control) {
  std::string bytes(root ? 4096 : 64, '\0');
  if (root) {
    const unsigned char acs[] = {
        0x0d, 0x00, 0x01, 0x00, 0x1f, 0x00, static_cast<unsigned char>(acs_control), 0x00};
    for (std::size_t i = 0; i < sizeof acs; ++i) bytes[0x100 + i] = static_cast<char>(acs[i]);
  }
  return bytes;
}

struct Bridges {
  bool root = false;  ///< the reader is root and may read their registers
  unsigned acs_control = 0;
  std::string iommu;  ///< type of every IOMMU group; empty: no IOMMU
};

inline void add_slot(MemoryMachine& machine, const Slot& slot, const Bridges& bridges) {
  std::string folder = fmt::format("sys/devices/pci0000:{:02x}", slot.bus());
  int group = slot.number * 16 + slot.function * 8;
  for (const std::string& address :
       {slot.root_port(), slot.switch_up(), slot.switch_down(), slot.card()}) {
    folder += "/" + address;
    machine.link("sys/bus/pci/devices/" + address, folder);
    machine.write(folder + "/config", configuration_space(bridges.root, bridges.acs_control));
    machine.write(folder + "/class", "0x060400\n");
    if (bridges.iommu.empty()) continue;
    const std::string group_folder = fmt::format("sys/kernel/iommu_groups/{}", group++);
    machine.write(group_folder + "/type", bridges.iommu + "\n");
    machine.link(folder + "/iommu_group", group_folder);
  }
}

struct NicFacts {
  std::string state = "4: ACTIVE";
  std::string rate = "400 Gb/sec (4X NDR)";
  std::string link_layer = "Ethernet";
  int mtu = 9000;
  std::string gid_type = "RoCE v2";
};

/// The NIC mlx5_N beside the GPU in slot N.
inline void add_nic(MemoryMachine& machine, int number, const Bridges& bridges,
                    const NicFacts& facts) {
  const Slot slot{number, 1};
  add_slot(machine, slot, bridges);
  machine.write(slot.folder() + "/class", "0x020700\n");
  machine.write(slot.folder() + "/numa_node", fmt::format("{}\n", slot.socket()));
  const std::string interface = fmt::format("eth{}", number);
  const std::string verbs = fmt::format("uverbs{}", number);
  machine.write(slot.folder() + "/net/" + interface + "/mtu", fmt::format("{}\n", facts.mtu));
  machine.write(slot.folder() + "/infiniband_verbs/" + verbs + "/abi_version", "1\n");
  machine.link("sys/class/net/" + interface, slot.folder() + "/net/" + interface);
  machine.device("dev/infiniband/" + verbs);
  const std::string device = fmt::format("sys/class/infiniband/mlx5_{}", number);
  machine.link(device + "/device", slot.folder());
  const std::string port = device + "/ports/1/";
  machine.write(port + "state", facts.state + "\n");
  machine.write(port + "rate", facts.rate + "\n");
  machine.write(port + "link_layer", facts.link_layer + "\n");
  machine.write(port + "gid_attrs/ndevs/0", interface + "\n");
  machine.write(port + "gid_attrs/types/0", "IB/RoCE v1\n");
  machine.write(port + "gid_attrs/types/3", facts.gid_type + "\n");
  machine.write(port + "gids/3", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
}

}  // namespace assay
