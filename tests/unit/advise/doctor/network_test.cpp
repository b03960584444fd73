// The checks of assay doctor that look at PCIe bridges and NICs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/doctor/pci.h"
#include "machine/system/nic.h"
#include "machines/machines.h"
#include "unit/doctor_test.h"

namespace assay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

/// An extended capability's first four bytes.
void put_capability(std::string& bytes, std::size_t at, unsigned id, std::size_t next) {
  bytes[at] = static_cast<char>(id);
  bytes[at + 1] = '\0';
  bytes[at + 2] = static_cast<char>(1 | (next & 0xf) << 4);
  bytes[at + 3] = static_cast<char>(next >> 4);
}

TEST(Pci, FindsAcsAmongExtendedCapabilities) {
  std::string bytes(4096, '\0');
  put_capability(bytes, 0x100, 0x01, 0x2a0);
  put_capability(bytes, 0x2a0, 0x0d, 0);
  bytes[0x2a6] = 0x1d;
  const AcsControl control = acs_control(bytes);
  EXPECT_EQ(control.state, AcsState::known);
  EXPECT_TRUE(control.redirects());
  EXPECT_TRUE(control.validates());
  bytes[0x2a6] = 0x01;
  EXPECT_FALSE(acs_control(bytes).redirects());
}

TEST(Pci, SaysWhyAcsIsNotKnown) {
  EXPECT_EQ(acs_control("").state, AcsState::unreadable);
  EXPECT_EQ(acs_control(std::string(64, '\0')).state, AcsState::needs_root);
  EXPECT_EQ(acs_control(std::string(256, '\0')).state, AcsState::absent);
  EXPECT_EQ(acs_control(std::string(4096, '\0')).state, AcsState::absent);
  EXPECT_EQ(acs_control(std::string(4096, '\xff')).state, AcsState::absent);
  std::string circle(4096, '\0');
  put_capability(circle, 0x100, 0x01, 0x140);
  put_capability(circle, 0x140, 0x02, 0x100);
  EXPECT_EQ(acs_control(circle).state, AcsState::absent);
  std::string outside(4096, '\0');
  put_capability(outside, 0x100, 0x01, 0xffc);
  put_capability(outside, 0xffc, 0x0d, 0);
  EXPECT_EQ(acs_control(outside).state, AcsState::absent);
}

TEST(Pci, BridgesFromTheRootDown) {
  const MemoryMachine machine = mi355x();
  EXPECT_THAT(bridges_above(machine, "0000:13:00.0"),
              ElementsAre("0000:10:01.1", "0000:11:00.0", "0000:12:00.0"));
  EXPECT_EQ(shared_bridges(machine, "0000:13:00.0", "0000:14:00.0"), 2);
  EXPECT_EQ(shared_bridges(machine, "0000:13:00.0", "0000:24:00.0"), 0);
  EXPECT_TRUE(bridges_above(machine, "0000:ff:00.0").empty());
}

TEST(Nic, PortsAsTheKernelListsThem) {
  MemoryMachine machine = mi355x();
  machine.write("sys/class/infiniband/mlx5_0/ports/2/state", "1: DOWN\n");
  const std::vector<Nic> nics = read_nics(machine);
  ASSERT_EQ(nics.size(), 9u);
  EXPECT_EQ(nics[0].pci, "0000:14:00.0");
  EXPECT_EQ(nics[0].interface, "eth0");
  EXPECT_EQ(nics[0].gigabits_per_second, 400);
  EXPECT_EQ(nics[0].numa_node, 0);
  EXPECT_TRUE(nics[0].active());
  EXPECT_EQ(label(nics[1]), "mlx5_0 port 2");
  EXPECT_FALSE(nics[1].active());
}

TEST(DoctorNetwork, AcsThatOnlyValidatesSources) {
  MemoryMachine machine = mi300x_cpx();
  machine.write("sys/devices/pci0000:10/0000:10:01.1/config", configuration_space(true, 1));
  const auto checks = find_checks(std::vector<std::string>{"acs"});
  const Finding finding = diagnose(machine, {}, *checks).results[0].findings[0];
  EXPECT_EQ(finding.judgement, Judgement::warn);
  EXPECT_EQ(finding.found, "SrcValid+ on 1 of 24 bridges, no redirection");
  EXPECT_THAT(finding.fix, HasSubstr("for b in 0000:10:01.1; do sudo setpci -s $b"));
}

TEST(DoctorNetwork, IommuIsJudgedByWhatCrossesIt) {
  MemoryMachine machine = mi300x_cpx();
  machine.change_files([](const std::string& path, const std::string& text) {
    return path.ends_with("/type") ? "DMA\n" : text;
  });
  EXPECT_THAT(lines(machine, {}, {"iommu"}), ElementsAre("FAIL iommu: translating (DMA)"));
  machine = h200_node();
  machine.write("sys/kernel/iommu_groups/1/type", "DMA-FQ\n");
  machine.link(Slot{0, 0}.folder() + "/iommu_group", "sys/kernel/iommu_groups/1");
  EXPECT_THAT(lines(machine, {}, {"iommu"}), ElementsAre("WARN iommu: translating (DMA-FQ)"));
  EXPECT_THAT(lines(machine, multi_node(), {"iommu"}),
              ElementsAre("FAIL iommu: translating (DMA-FQ)"));
}

TEST(DoctorNetwork, NodesNeedRdma) {
  EXPECT_THAT(lines(mi300x_cpx(), multi_node(), {"nic-link"}),
              ElementsAre("FAIL nic-link: no RDMA device in /sys/class/infiniband"));
  EXPECT_THAT(lines(mi300x_spx(), multi_node(), {"nic-link"}),
              Contains("FAIL nic-link [mlx5_7]: DOWN, 400 Gb/s, Ethernet"));
  MemoryMachine machine = mi355x();
  machine.write("sys/class/infiniband/mlx5_3/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  EXPECT_THAT(lines(machine, {}, {"nic-link"}),
              Contains("WARN nic-link [mlx5_3]: ACTIVE, 100 Gb/s, Ethernet, others have 400 Gb/s"));
}

TEST(DoctorNetwork, GidsOfRoce) {
  MemoryMachine machine = mi355x();
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
  machine.write(port + "gids/3", "fe80:0000:0000:0000:0000:0000:0000:0001\n");
  EXPECT_THAT(lines(machine, {}, {"nic-gid"}),
              ElementsAre("WARN nic-gid [mlx5_0]: RoCE v2 with a link-local address only",
                          "PASS nic-gid [mlx5_1-7]: RoCE v2 at index 3"));
  machine.erase(port + "gid_attrs/types/3");
  EXPECT_THAT(lines(machine, multi_node(), {"nic-gid"}),
              Contains("FAIL nic-gid [mlx5_0]: no RoCE v2 GID"));
  machine.erase(port + "gid_attrs/types/0");
  EXPECT_THAT(lines(machine, multi_node(), {"nic-gid"}),
              Contains("UNKNOWN nic-gid [mlx5_0]: the GID table is not visible here"));
  machine.set("NCCL_IB_GID_INDEX", "0");
  EXPECT_THAT(lines(machine, multi_node(), {"nic-gid"}),
              ElementsAre("FAIL nic-gid [mlx5_0]: NCCL_IB_GID_INDEX=0: no such GID",
                          "FAIL nic-gid [mlx5_1-7]: NCCL_IB_GID_INDEX=0: IB/RoCE v1"));
}

TEST(DoctorNetwork, InterfacesOutsideTheNamespace) {
  MemoryMachine machine = mi355x();
  const std::string nic = Slot{0, 1}.folder();
  machine.erase(nic + "/net/eth0/mtu");
  machine.write(Slot{1, 1}.folder() + "/net/eth1/mtu", "jumbo\n");
  EXPECT_THAT(lines(machine, {}, {"nic-mtu"}),
              ElementsAre("UNKNOWN nic-mtu [mlx5_0]: /sys/class/net/eth0/mtu: does not exist",
                          "UNKNOWN nic-mtu [mlx5_1]: not a number: \"jumbo\"",
                          "PASS nic-mtu [mlx5_2-7]: 9000"));
  machine.erase("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0");
  EXPECT_THAT(
      lines(machine, {}, {"nic-mtu"}),
      Contains("UNKNOWN nic-mtu [mlx5_0]: no network interface of the port is in this network "
               "namespace"));
}

TEST(DoctorNetwork, VerbsDevices) {
  MemoryMachine machine = mi355x();
  machine.device("dev/infiniband/uverbs0", FileState::denied);
  machine.device("dev/infiniband/uverbs1", FileState::missing);
  machine.device("dev/infiniband/uverbs2", FileState::not_captured);
  const std::vector<std::string> ids = {"rdma-permissions"};
  EXPECT_THAT(lines(machine, {}, ids),
              ElementsAre("WARN rdma-permissions [/dev/infiniband/uverbs0]: permission denied",
                          "WARN rdma-permissions [/dev/infiniband/uverbs1]: does not exist",
                          "UNKNOWN rdma-permissions [/dev/infiniband/uverbs2]: not in the capture",
                          "PASS rdma-permissions [/dev/infiniband/uverbs3-7]: may be opened"));
  EXPECT_THAT(lines(machine, multi_node(), ids),
              Contains("FAIL rdma-permissions [/dev/infiniband/uverbs0]: permission denied"));
}

TEST(DoctorNetwork, GpusFarFromEveryNic) {
  MemoryMachine machine = mi300x_cpx();
  const Bridges bridges;
  for (const int number : {0, 1}) add_nic(machine, number, bridges, NicFacts());
  EXPECT_THAT(lines(machine, {}, {"gpu-nic-affinity"}),
              ElementsAre("PASS gpu-nic-affinity [GPU 0-1]: a NIC behind the same switch",
                          "PASS gpu-nic-affinity [GPU 2-3]: a NIC on the same NUMA node",
                          "WARN gpu-nic-affinity [GPU 4-7]: no NIC on NUMA node 1"));
  machine.write(amd_folder(7) + "/numa_node", "-1\n");
  EXPECT_THAT(
      lines(machine, multi_node(), {"gpu-nic-affinity"}),
      testing::IsSupersetOf({"FAIL gpu-nic-affinity [GPU 4-6]: no NIC on NUMA node 1",
                             "UNKNOWN gpu-nic-affinity [GPU 7 (0000:83:00.0)]: the firmware "
                             "does not report the GPU's NUMA node"}));
}

TEST(DoctorNetwork, WaysFromNicToGpuMemory) {
  MemoryMachine machine = mi355x();
  machine.write("boot/config-6.8.0-60-generic", "CONFIG_PCI_P2PDMA=y\n");
  EXPECT_THAT(lines(machine, multi_node(), {"gpudirect-rdma"}),
              ElementsAre("FAIL gpudirect-rdma [AMD]: no peer memory, and the kernel lacks "
                          "CONFIG_DMABUF_MOVE_NOTIFY=y"));
  machine.withhold("boot/config-6.8.0-60-generic");
  EXPECT_THAT(
      lines(machine, multi_node(), {"gpudirect-rdma"}),
      ElementsAre(HasSubstr("UNKNOWN gpudirect-rdma [AMD]: no peer memory, and the kernel's "
                            "options cannot be read")));
  machine.write("proc/sys/kernel/osrelease", "5.4.0-1-generic\n");
  EXPECT_THAT(
      lines(machine, {}, {"gpudirect-rdma"}),
      ElementsAre("WARN gpudirect-rdma [AMD]: no peer memory, and the kernel has no dma-buf "
                  "for RDMA"));
  machine = h200_node();
  machine.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module\n");
  EXPECT_THAT(lines(machine, multi_node(), {"gpudirect-rdma"}),
              ElementsAre("FAIL gpudirect-rdma [NVIDIA]: neither nvidia_peermem nor open kernel "
                          "modules"));
  machine.write("sys/module/nvidia_peermem/version", "580\n");
  EXPECT_THAT(lines(machine, multi_node(), {"gpudirect-rdma"}),
              ElementsAre("PASS gpudirect-rdma [NVIDIA]: peer memory"));
}

}  // namespace
}  // namespace assay
