// Checks of assay doctor that judge values: all GPUs alike and all wrong, and what variables point
// to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machines/machines.h"
#include "unit/doctor_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

/// mi355x(), all of its GPUs busy at one clock.
MemoryMachine busy_at(int mhz, int watts) {
  MemoryMachine machine = mi355x();
  for (int gpu = 0; gpu < 8; ++gpu) {
    machine.write(amd_folder(gpu) + "/gpu_metrics", MetricsTable(8).clocks(mhz + gpu % 2).bytes());
    machine.write(amd_folder(gpu) + "/hwmon/hwmon3/power1_input", fmt::format("{}000000", watts));
  }
  return machine;
}

TEST(DoctorValue, GpusThatAreAllHeldBack) {
  const Ids ids = {"gpu-clocks"};
  EXPECT_THAT(
      lines(busy_at(58, 155), {}, ids),
      ElementsAre("FAIL gpu-clocks [8 x AMD Instinct MI355X]: busy at 58.00 MHz to 59.00 MHz, "
                  "the highest clock is 2.400 GHz; 155 to 155 W of 1400 W"));
  EXPECT_THAT(first_finding(busy_at(58, 155), ids[0]).why, HasSubstr("not the power limit"));
  // The power limit explains any clock, and explains none above half of the highest.
  EXPECT_THAT(lines(busy_at(1100, 1390), {}, ids),
              ElementsAre("PASS gpu-clocks [8 x AMD Instinct MI355X]: now at 1.100 GHz to 1.101 "
                          "GHz"));
  EXPECT_THAT(lines(busy_at(1300, 155), {}, ids),
              ElementsAre("PASS gpu-clocks [8 x AMD Instinct MI355X]: now at 1.300 GHz to 1.301 "
                          "GHz"));
  MemoryMachine one = busy_at(2350, 1000);
  one.write(amd_folder(5) + "/gpu_metrics", MetricsTable(8).clocks(140).bytes());
  EXPECT_THAT(
      lines(one, {}, ids),
      ElementsAre("FAIL gpu-clocks [1 x AMD Instinct MI355X]: busy at 140.0 MHz to 140.0 MHz, "
                  "the highest clock is 2.400 GHz; 1000 to 1000 W of 1400 W",
                  "PASS gpu-clocks [7 x AMD Instinct MI355X]: now at 2.350 GHz to 2.351 "
                  "GHz"));
  for (int gpu = 0; gpu < 8; ++gpu) one.write(amd_folder(gpu) + "/gpu_busy_percent", "0\n");
  EXPECT_THAT(lines(one, {}, ids),
              ElementsAre("UNKNOWN gpu-clocks [8 x AMD Instinct MI355X]: not all busy: read again "
                          "under load"));
}

TEST(DoctorValue, AGpuThatIsNotOnTheBus) {
  MemoryMachine machine;
  add_host(machine, Host());
  AmdNode node;
  node.gpus = 7;
  add_amd_node(machine, node, Bridges());
  const Ids ids = {"gpu-driver", "mesh-collectives"};
  EXPECT_THAT(lines(machine, {}, ids), IsSupersetOf({"FAIL gpu-driver [PCI bus]: 7 of 8 GPUs",
                                                     "WARN mesh-collectives: 7 of 7 GPUs"}));
  EXPECT_THAT(first_finding(machine, "mesh-collectives").fix,
              HasSubstr("1 of the mesh's 8 GPUs are missing here: see gpu-driver"));
  machine.answer("hypervisor", "KVMKVMKVM");  // a guest has what it was given
  EXPECT_THAT(lines(machine, {}, {"gpu-driver"}), ElementsAre(HasSubstr("PASS gpu-driver")));
}

TEST(DoctorValue, HidingVariablesCountWithinEachOther) {
  const Ids ids = {"visible-devices"};
  MemoryMachine machine = mi355x();
  EXPECT_THAT(lines(machine, {}, ids), ElementsAre("n/a visible-devices"));
  machine.set("ROCR_VISIBLE_DEVICES", "1").set("HIP_VISIBLE_DEVICES", "1");
  EXPECT_THAT(lines(machine, {}, ids),
              ElementsAre("PASS visible-devices: ROCR_VISIBLE_DEVICES=1: 1 of the 8 GPUs",
                          "FAIL visible-devices: HIP_VISIBLE_DEVICES=1: 0 of the 1 GPUs that "
                          "ROCR_VISIBLE_DEVICES=1 leaves; 1 names none of them"));
  EXPECT_THAT(lines(machine, {}, {"mesh-collectives"}), ElementsAre("n/a mesh-collectives"));
  machine.set("ROCR_VISIBLE_DEVICES", "4, 5,6,GPU-e12ab34f5d6c7b89")
      .set("HIP_VISIBLE_DEVICES", "3");
  EXPECT_THAT(lines(machine, {}, {"visible-devices", "mesh-collectives"}),
              ElementsAre("PASS mesh-collectives: 1 of 8 GPUs",
                          "PASS visible-devices: ROCR_VISIBLE_DEVICES=4, 5,6,GPU-e12ab34f5d6c7b89: "
                          "4 of the 8 GPUs",
                          "PASS visible-devices: HIP_VISIBLE_DEVICES=3: 1 of the 4 GPUs that "
                          "ROCR_VISIBLE_DEVICES=4, 5,6,GPU-e12ab34f5d6c7b89 leaves"));
}

TEST(DoctorValue, IndicesWithoutAGpu) {
  const Ids ids = {"visible-devices"};
  const auto line = [&](MemoryMachine machine, const char* name, const char* value) {
    return lines(machine.set(name, value), {}, ids).front();
  };
  EXPECT_EQ(line(mi355x(), "HIP_VISIBLE_DEVICES", "8"),
            "FAIL visible-devices: HIP_VISIBLE_DEVICES=8: 0 of the 8 GPUs; 8 names none of them");
  EXPECT_EQ(line(mi355x(), "HIP_VISIBLE_DEVICES", "0,9,1"),
            "WARN visible-devices: HIP_VISIBLE_DEVICES=0,9,1: 1 of the 8 GPUs; 9 names none of "
            "them");
  EXPECT_EQ(line(mi355x(), "CUDA_VISIBLE_DEVICES", "-1"),
            "FAIL visible-devices: CUDA_VISIBLE_DEVICES=-1: 0 of the 8 GPUs; -1 names none of "
            "them");
  EXPECT_EQ(line(mi355x(), "HIP_VISIBLE_DEVICES", ""),
            "FAIL visible-devices: HIP_VISIBLE_DEVICES=: 0 of the 8 GPUs");
  EXPECT_EQ(line(mi355x(), "ROCR_VISIBLE_DEVICES", ""),
            "FAIL visible-devices: ROCR_VISIBLE_DEVICES=: 0 of the 8 GPUs");
  EXPECT_EQ(line(mi355x(), "HIP_VISIBLE_DEVICES", "0, 1"),
            "WARN visible-devices: HIP_VISIBLE_DEVICES=0, 1: 1 of the 8 GPUs; \" 1\" names none of "
            "them");
  EXPECT_EQ(line(mi355x(), "HIP_VISIBLE_DEVICES", "3,3,5"),
            "PASS visible-devices: HIP_VISIBLE_DEVICES=3,3,5: 2 of the 8 GPUs");
  EXPECT_EQ(line(mi355x(), "ROCR_VISIBLE_DEVICES", "3,3,5"),
            "PASS visible-devices: ROCR_VISIBLE_DEVICES=3,3,5: 1 of the 8 GPUs");
  EXPECT_EQ(line(mi300x_cpx(), "HIP_VISIBLE_DEVICES", "63"),  // partitions
            "PASS visible-devices: HIP_VISIBLE_DEVICES=63: 1 of the 64 GPUs");
  EXPECT_EQ(line(h200_node(), "CUDA_VISIBLE_DEVICES", ""),
            "FAIL visible-devices: CUDA_VISIBLE_DEVICES=: 0 of the 8 GPUs");
  EXPECT_EQ(line(h200_node(), "HIP_VISIBLE_DEVICES", "9"), "n/a visible-devices");
  EXPECT_EQ(first_finding(mi355x().set("HIP_VISIBLE_DEVICES", "8"), ids[0]).fix,
            "unset HIP_VISIBLE_DEVICES, or use 0 to 7");
}

TEST(DoctorValue, InterfacesThatAreNotThere) {
  const Ids ids = {"named-interfaces"};
  const auto line = [&](const char* name, const char* value, const Intent& intent = {}) {
    return lines(mi355x().set(name, value), intent, ids).front();
  };
  EXPECT_EQ(line("NCCL_SOCKET_IFNAME", "ens3"),
            "FAIL named-interfaces: NCCL_SOCKET_IFNAME=ens3: none of eth0, eth1, eth2, eth3, eth4, "
            "eth5, eth6, eth7");
  EXPECT_EQ(line("NCCL_SOCKET_IFNAME", "10.0.0.5").substr(0, 4), "FAIL");
  EXPECT_EQ(line("NCCL_SOCKET_IFNAME", "eth2,lo"),
            "PASS named-interfaces: NCCL_SOCKET_IFNAME=eth2,lo: eth2");
  EXPECT_EQ(line("NCCL_SOCKET_IFNAME", "=et").substr(0, 4), "FAIL");
  EXPECT_EQ(line("NCCL_SOCKET_IFNAME", "^eth").substr(0, 4), "FAIL");
  EXPECT_EQ(line("NCCL_SOCKET_IFNAME", "^=eth,docker0").substr(0, 4), "PASS");
  EXPECT_EQ(line("GLOO_SOCKET_IFNAME", "eth").substr(0, 4), "FAIL");  // a whole name
  EXPECT_EQ(line("NCCL_IB_HCA", "mlx5_9"),
            "WARN named-interfaces: NCCL_IB_HCA=mlx5_9: none of mlx5_0, mlx5_1, mlx5_2, mlx5_3, "
            "mlx5_4, mlx5_5, mlx5_6, mlx5_7");
  EXPECT_EQ(line("NCCL_IB_HCA", "mlx5_9", multi_node()).substr(0, 4), "FAIL");
  EXPECT_EQ(line("NCCL_IB_HCA", "=mlx5_3:1,mlx5_4:2"),
            "PASS named-interfaces: NCCL_IB_HCA==mlx5_3:1,mlx5_4:2: mlx5_3");
  MemoryMachine folder = mi300x_cpx();
  EXPECT_THAT(lines(folder.set("NCCL_SOCKET_IFNAME", "eth0"), {}, ids),
              ElementsAre("UNKNOWN named-interfaces: NCCL_SOCKET_IFNAME=eth0, and the capture or "
                          "folder has no /sys/class/net"));
}

TEST(DoctorValue, SwitchesThatTurnPathsOffOrStayOn) {
  const Ids ids = {"debug-variables"};
  const auto line = [&](const char* name, const char* value) {
    return lines(mi300x_spx().set(name, value), {}, ids).front();
  };
  EXPECT_EQ(line("HSA_ENABLE_SDMA", "0"), "WARN debug-variables: HSA_ENABLE_SDMA=0");
  EXPECT_EQ(line("HSA_ENABLE_SDMA", "1"), "PASS debug-variables: none");
  EXPECT_EQ(line("NCCL_P2P_LEVEL", "0"), "FAIL debug-variables: NCCL_P2P_LEVEL=0");
  EXPECT_EQ(line("NCCL_P2P_LEVEL", "LOC"), "FAIL debug-variables: NCCL_P2P_LEVEL=LOC");
  EXPECT_EQ(line("NCCL_P2P_LEVEL", "NVL"), "PASS debug-variables: none");
  EXPECT_EQ(line("NCCL_NET_GDR_LEVEL", "0"), "WARN debug-variables: NCCL_NET_GDR_LEVEL=0");
  EXPECT_EQ(line("NCCL_MAX_NCHANNELS", "1"), "WARN debug-variables: NCCL_MAX_NCHANNELS=1");
  EXPECT_EQ(line("NCCL_MAX_NCHANNELS", "64"), "PASS debug-variables: none");
  EXPECT_EQ(line("HSA_XNACK", "1"), "WARN debug-variables: HSA_XNACK=1");
  EXPECT_EQ(line("HSA_ENABLE_IPC_MODE_LEGACY", "1"),
            "WARN debug-variables: HSA_ENABLE_IPC_MODE_LEGACY=1");
  EXPECT_EQ(line("HSA_OVERRIDE_GFX_VERSION", "11.0.0"),
            "FAIL debug-variables: HSA_OVERRIDE_GFX_VERSION=11.0.0");
  EXPECT_EQ(line("HSA_OVERRIDE_GFX_VERSION", "9.4.2"), "PASS debug-variables: none");
  EXPECT_EQ(line("MIOPEN_FIND_ENFORCE", "SEARCH"),
            "WARN debug-variables: MIOPEN_FIND_ENFORCE=SEARCH");
  EXPECT_EQ(line("MIOPEN_FIND_ENFORCE", "NONE"), "PASS debug-variables: none");
  MemoryMachine machine = mi300x_spx();
  machine.set("PYTORCH_TUNABLEOP_ENABLED", "1");  // tunes, too, unless told otherwise
  EXPECT_THAT(lines(machine, {}, ids),
              ElementsAre("WARN debug-variables: PYTORCH_TUNABLEOP_ENABLED=1"));
  EXPECT_THAT(first_finding(machine, ids[0]).fix, HasSubstr("PYTORCH_TUNABLEOP_TUNING=0"));
  machine.set("PYTORCH_TUNABLEOP_TUNING", "0");
  EXPECT_THAT(lines(machine, {}, ids), ElementsAre("PASS debug-variables: none"));
}

}  // namespace
}  // namespace assay
