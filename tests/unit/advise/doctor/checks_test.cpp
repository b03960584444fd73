// Single checks of assay doctor: where judgements change, and where advice ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machines/machines.h"
#include "unit/doctor_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DoctorCheck, NumaBalancingMattersMoreWithGpus) {
  EXPECT_THAT(lines(mi300x_spx(), {}, {"numa-balancing"}), ElementsAre("FAIL numa-balancing: 1"));
  MemoryMachine machine = cpu_container();
  EXPECT_THAT(lines(machine, {}, {"numa-balancing"}), ElementsAre("WARN numa-balancing: 1"));
  machine.write("proc/sys/kernel/numa_balancing", "banana\n");
  EXPECT_THAT(lines(machine, {}, {"numa-balancing"}),
              ElementsAre("UNKNOWN numa-balancing: not a number: \"banana\""));
  machine.withhold("proc/sys/kernel/numa_balancing");
  EXPECT_THAT(lines(machine, {}, {"numa-balancing"}),
              ElementsAre("UNKNOWN numa-balancing: /proc/sys/kernel/numa_balancing: needs root"));
  machine.erase("proc/sys/kernel/numa_balancing");
  EXPECT_THAT(lines(machine, {}, {"numa-balancing"}), ElementsAre("n/a numa-balancing"));
}

TEST(DoctorCheck, GovernorsOfDriversThatChooseInHardware) {
  MemoryMachine machine = mi300x_cpx();
  const std::string policy = "sys/devices/system/cpu/cpufreq/policy";
  machine.write(policy + "0/scaling_governor", "powersave\n");
  EXPECT_THAT(lines(machine, {}, {"cpu-governor"}),
              ElementsAre("FAIL cpu-governor: performance on 1 CPUs; powersave on 1 CPUs"));
  machine.write(policy + "0/energy_performance_preference", "balance_performance\n");
  machine.write(policy + "1/scaling_governor", "powersave\n");
  machine.write(policy + "1/energy_performance_preference", "balance_performance\n");
  EXPECT_THAT(lines(machine, {}, {"cpu-governor"}),
              ElementsAre("WARN cpu-governor: powersave, preference balance_performance"));
  for (const char* number : {"0", "1"}) {
    machine.write(policy + number + "/energy_performance_preference", "performance\n");
  }
  machine.write("sys/devices/system/cpu/cpufreq/boost", "0\n");
  EXPECT_THAT(lines(machine, {}, {"cpu-governor"}),
              ElementsAre("PASS cpu-governor: powersave, preference performance",
                          "WARN cpu-governor: boost off"));
}

TEST(DoctorCheck, PartitionModeIsJudgedByIntent) {
  Intent intent;
  intent.partition = "CPX/NPS4";
  EXPECT_THAT(lines(mi300x_cpx(), intent, {"partition-mode"}),
              ElementsAre("PASS partition-mode [GPU 0-7]: CPX/NPS4"));
  EXPECT_THAT(lines(mi300x_spx(), intent, {"partition-mode"}),
              ElementsAre("FAIL partition-mode [GPU 0-7]: SPX/NPS1"));
  EXPECT_EQ(first_finding(mi300x_spx(), "partition-mode", intent).fix,
            "sudo amd-smi set --gpu all --memory-partition NPS4 && sudo amd-smi set --gpu all "
            "--compute-partition CPX");
  EXPECT_THAT(lines(h200_node(), intent, {"partition-mode"}),
              ElementsAre("UNKNOWN partition-mode: no GPU shows a partition mode"));
}

TEST(DoctorCheck, CollectivesOverPartOfAMesh) {
  const Ids ids = {"mesh-collectives"};
  for (const int gpus : {2, 4}) {
    EXPECT_THAT(lines(mi300x_spx(), with_gpus(gpus), ids),
                ElementsAre(fmt::format("FAIL mesh-collectives: {} of 8 GPUs", gpus)));
  }
  EXPECT_THAT(lines(mi300x_spx(), with_gpus(1), ids),
              ElementsAre("PASS mesh-collectives: 1 of 8 GPUs"));
  MemoryMachine machine = mi355x();
  machine.set("HIP_VISIBLE_DEVICES", "0,1,2,3");
  EXPECT_THAT(lines(machine, {}, ids), ElementsAre("WARN mesh-collectives: 4 of 8 GPUs"));
  EXPECT_THAT(lines(h200_node(), with_gpus(2), ids), ElementsAre("n/a mesh-collectives"));
  for (int gpu = 0; gpu < 8; ++gpu) machine.write(amd_folder(gpu) + "/device", "0x74a0\n");
  machine.change_files([](const std::string& path, const std::string& text) {
    return path.find("/topology/nodes/") == std::string::npos ? text : "simd_count 0\n";
  });
  EXPECT_THAT(lines(machine, {}, ids), ElementsAre("n/a mesh-collectives"));  // MI300A, 4 to a node
}

TEST(DoctorCheck, VariablesOnlyWhereTheyHelp) {
  const Ids channels = {"nccl-min-nchannels"};
  EXPECT_THAT(lines(mi300x_spx(), with_gpus(4), channels), ElementsAre("n/a nccl-min-nchannels"));
  EXPECT_THAT(lines(mi355x(), {}, channels), ElementsAre("n/a nccl-min-nchannels"));
  MemoryMachine machine = mi300x_spx();
  machine.set("NCCL_MIN_NCHANNELS", "32");
  EXPECT_THAT(lines(machine, {}, channels),
              ElementsAre("WARN nccl-min-nchannels: NCCL_MIN_NCHANNELS=32"));
  EXPECT_EQ(first_finding(machine, channels[0]).fix, "export NCCL_MIN_NCHANNELS=112");

  const Ids kernarg = {"hip-force-dev-kernarg"};
  EXPECT_THAT(lines(machine, {}, kernarg),
              ElementsAre("WARN hip-force-dev-kernarg: not set, ROCm 6.1.2"));
  machine.write("opt/rocm/.info/version", "6.2.0-66\n");
  EXPECT_THAT(lines(machine, {}, kernarg), ElementsAre("n/a hip-force-dev-kernarg"));
  machine.set("HIP_FORCE_DEV_KERNARG", "0");
  EXPECT_THAT(lines(machine, {}, kernarg),
              ElementsAre("WARN hip-force-dev-kernarg: HIP_FORCE_DEV_KERNARG=0"));

  machine = mi355x();
  const Ids priority = {"torch-nccl-high-priority", "gpu-max-hw-queues"};
  EXPECT_THAT(lines(machine, multi_node(), priority),
              ElementsAre("WARN gpu-max-hw-queues: GPU_MAX_HW_QUEUES not set",
                          "WARN torch-nccl-high-priority: TORCH_NCCL_HIGH_PRIORITY not set"));
  machine.set("TORCH_NCCL_HIGH_PRIORITY", "1").set("GPU_MAX_HW_QUEUES", "2");
  EXPECT_THAT(lines(machine, multi_node(), priority),
              ElementsAre("PASS gpu-max-hw-queues: GPU_MAX_HW_QUEUES=2",
                          "PASS torch-nccl-high-priority: TORCH_NCCL_HIGH_PRIORITY=1"));
}

TEST(DoctorCheck, HipblasltIsTheDefaultOfNewerReleases) {
  const Ids ids = {"torch-prefer-hipblaslt"};
  MemoryMachine machine = mi355x();
  machine.write("opt/rocm/.info/version", "6.4.0\n");
  EXPECT_THAT(lines(machine, {}, ids),
              ElementsAre("WARN torch-prefer-hipblaslt: not set, ROCm 6.4.0"));
  machine.set("TORCH_BLAS_PREFER_HIPBLASLT", "1");
  EXPECT_THAT(lines(machine, {}, ids),
              ElementsAre("PASS torch-prefer-hipblaslt: TORCH_BLAS_PREFER_HIPBLASLT=1"));
}

TEST(DoctorCheck, ScratchReclaimDependsOnFirmware) {
  const Ids ids = {"hsa-no-scratch-reclaim"};
  MemoryMachine machine = mi300x_spx();
  machine.set("HSA_NO_SCRATCH_RECLAIM", "1");
  EXPECT_THAT(lines(machine, {}, ids),
              ElementsAre("PASS hsa-no-scratch-reclaim: HSA_NO_SCRATCH_RECLAIM=1"));
  EXPECT_THAT(lines(mi300x_spx(), with_gpus(1), ids), ElementsAre("n/a hsa-no-scratch-reclaim"));
}

TEST(DoctorCheck, DebuggingSwitches) {
  MemoryMachine machine = mi355x();
  machine.set("HIP_LAUNCH_BLOCKING", "1").set("AMD_LOG_LEVEL", "0").set("HSA_ENABLE_DEBUG", "1");
  EXPECT_THAT(lines(machine, {}, {"debug-variables"}),
              ElementsAre("FAIL debug-variables: HIP_LAUNCH_BLOCKING=1",
                          "WARN debug-variables: HSA_ENABLE_DEBUG=1"));
}

TEST(DoctorCheck, LockedMemoryMattersWithNics) {
  MemoryMachine machine = mi300x_cpx();
  machine.write("proc/self/limits", "Max locked memory         65536   65536   bytes\n");
  EXPECT_THAT(lines(machine, {}, {"memlock"}), ElementsAre("WARN memlock: 64 KiB"));
  EXPECT_THAT(lines(machine, multi_node(), {"memlock"}), ElementsAre("FAIL memlock: 64 KiB"));
  machine.write("proc/self/status", "CapEff:\t000001ffffffffff\n");
  machine.answer("namespaces", {{"user", 4026531837u}});
  EXPECT_THAT(lines(machine, multi_node(), {"memlock"}),
              ElementsAre("PASS memlock: 64 KiB, lifted by CAP_IPC_LOCK"));
}

TEST(DoctorCheck, AQuotaBelowOneCpuPerGpuStarvesThem) {
  MemoryMachine machine = mi300x_cpx();
  machine.write("sys/fs/cgroup/box/cpu.max", "700000 100000\n");
  EXPECT_THAT(lines(machine, {}, {"cpu-quota"}),
              ElementsAre("FAIL cpu-quota: quota of 7 CPUs, 192 visible"));
  machine.write("sys/fs/cgroup/box/cpu.max", "1600000 100000\n");
  EXPECT_THAT(lines(machine, {}, {"cpu-quota"}),
              ElementsAre("WARN cpu-quota: quota of 16 CPUs, 192 visible"));
  machine.write("sys/fs/cgroup/box/cpuset.cpus.effective", "0-15\n");
  EXPECT_THAT(lines(machine, {}, {"cpu-quota"}),
              ElementsAre("PASS cpu-quota: quota of 16 CPUs, 16 visible"));
  machine.write("sys/fs/cgroup/box/cpu.max", "much\n");
  EXPECT_THAT(lines(machine, {}, {"cpu-quota"}),
              ElementsAre("UNKNOWN cpu-quota: not a quota: \"much\""));
}

TEST(DoctorCheck, ALinkMaySlowDownWhenIdleButNotNarrow) {
  MemoryMachine machine = mi300x_cpx();
  machine.write(amd_folder(0) + "/current_link_speed", "2.5 GT/s PCIe\n");
  machine.write(amd_folder(1) + "/current_link_width", "8\n");
  EXPECT_THAT(lines(machine, {}, {"pcie-link"}),
              testing::IsSupersetOf(
                  {"WARN pcie-link [GPU 0 (0000:13:00.0)]: 2.5 GT/s x16 of 32 GT/s x16, idle: read "
                   "again under load",
                   "FAIL pcie-link [GPU 1 (0000:23:00.0)]: 32 GT/s x8 of 32 GT/s x16"}));
  machine.write(amd_folder(0) + "/gpu_busy_percent", "99\n");
  EXPECT_THAT(
      lines(machine, {}, {"pcie-link"}),
      testing::Contains("FAIL pcie-link [GPU 0 (0000:13:00.0)]: 2.5 GT/s x16 of 32 GT/s x16"));
}

TEST(DoctorCheck, GpusWithoutADriver) {
  MemoryMachine machine = cpu_container();
  const Ids ids = {"gpu-driver"};
  for (const int gpu : {0, 1}) {
    add_slot(machine, Slot{gpu, 0}, Bridges());
    machine.write(amd_folder(gpu) + "/class", "0x120000\n");
    machine.write(amd_folder(gpu) + "/vendor", "0x1002\n");
  }
  machine.write("sys/bus/pci/drivers/vfio-pci/uevent", "");
  machine.link(amd_folder(1) + "/driver", "sys/bus/pci/drivers/vfio-pci");
  machine.answer("nvidia", {{"problem", "driver and library differ"}});
  EXPECT_THAT(
      lines(machine, {}, ids),
      ElementsAre("FAIL gpu-driver [0000:13:00.0]: no driver",
                  "PASS gpu-driver [0000:23:00.0]: vfio-pci: passed through to a virtual machine",
                  "FAIL gpu-driver [NVML]: driver and library differ"));
}

TEST(DoctorCheck, DeviceFilesMissingFromAContainer) {
  MemoryMachine machine = mi300x_cpx();
  machine.write(".dockerenv", "");
  machine.device("dev/kfd", FileState::missing);
  EXPECT_THAT(first_finding(machine, "device-permissions").fix, HasSubstr("--device=/dev/kfd"));
  machine.device("dev/kfd", FileState::denied);
  EXPECT_THAT(first_finding(machine, "device-permissions").fix, HasSubstr("usermod -a -G render"));
  machine.device("dev/kfd", FileState::not_captured);
  EXPECT_EQ(first_finding(machine, "device-permissions").judgement, Judgement::unknown);
}

TEST(DoctorCheck, LinksOfUnequalSpeedAndHiddenOnes) {
  MemoryMachine machine = mi300x_cpx();
  const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
  machine.write(nodes + "2/io_links/0/properties", "type 11\nnode_to 10\nmax_bandwidth 32000\n");
  EXPECT_THAT(lines(machine, {}, {"gpu-links"}),
              ElementsAre("FAIL gpu-links [GPU 0 (0000:13:00.0)]: links of 416 GB/s in all, others "
                          "have 448 GB/s",
                          "PASS gpu-links [GPU 1-7]: 7 xGMI links up"));
  machine.change_files([](const std::string& path, const std::string& text) {
    return path.find("/io_links/") == std::string::npos ? text : "type 2\nnode_to 0\n";
  });
  EXPECT_THAT(lines(machine, {}, {"gpu-links"}),
              ElementsAre(HasSubstr("UNKNOWN gpu-links: no xGMI links in /sys/class/kfd")));
}

TEST(DoctorCheck, IncompatibleRuntimes) {
  MemoryMachine machine = h200_node();
  const auto answer = [](const char* other) {
    return Json{
        {"cudart",
         {{{"path", "/usr/local/cuda-13.0/lib64/libcudart.so.13.0.96"}, {"version", "13.0.96"}},
          {{"path", "/venv/lib/libcudart.so"}, {"version", other}}}},
        {"cuda", {{{"path", "/lib/libcuda.so.1"}, {"version", "1"}}}}};
  };
  machine.answer("libraries", answer("13"));
  EXPECT_THAT(lines(machine, {}, {"runtimes"}),
              ElementsAre(HasSubstr("PASS runtimes [CUDA runtime]"),
                          HasSubstr("PASS runtimes [CUDA driver library]")));
  machine.answer("libraries", answer("12.8.90"));
  EXPECT_THAT(lines(machine, {}, {"runtimes"}),
              testing::Contains(HasSubstr("WARN runtimes [CUDA runtime]: 2 versions")));
  machine.answer("libraries", {{"cuda", {1, {{"path", 3}}}}});
  EXPECT_THAT(lines(machine, {}, {"runtimes"}),
              ElementsAre("UNKNOWN runtimes [CUDA runtime, CUDA driver library]: not found in the "
                          "usual library folders"));
}

TEST(DoctorCheck, GroupsWithoutThrottlingCounters) {
  MemoryMachine machine = cpu_container();
  const Ids ids = {"cgroup-throttling"};
  machine.write("sys/fs/cgroup/box/cpu.stat", "usage_usec 1\n");
  EXPECT_THAT(lines(machine, {}, ids),
              ElementsAre(HasSubstr("UNKNOWN cgroup-throttling: no counters")));
  machine.write("sys/fs/cgroup/box/cpu.max", "max 100000\n");
  EXPECT_THAT(lines(machine, {}, ids), ElementsAre("PASS cgroup-throttling: no quota"));
  machine.write("sys/fs/cgroup/box/cpu.stat", "nr_periods 1000\nnr_throttled 4\n");
  EXPECT_THAT(lines(machine, {}, ids),
              ElementsAre("WARN cgroup-throttling: 4 of 1000 periods throttled"));
}

TEST(DoctorCheck, MachinesWithoutControlGroups) {
  MemoryMachine machine = cpu_container();
  machine.erase("proc/self/cgroup");
  EXPECT_THAT(
      lines(machine, {}, {"cgroup-throttling", "cpu-quota"}),
      ElementsAre(HasSubstr("UNKNOWN cpu-quota: no control groups"), "n/a cgroup-throttling"));
}

TEST(DoctorCheck, NodesPerSocket) {
  MemoryMachine machine = mi300x_cpx();
  machine.write("sys/devices/system/node/node2/cpulist", "48-95\n");
  machine.write("sys/devices/system/cpu/cpu48/topology/physical_package_id", "0\n");
  machine.write("sys/devices/system/node/node3/cpulist", "\n");  // memory without CPUs
  EXPECT_THAT(lines(machine, {}, {"cpu-nps"}), ElementsAre("WARN cpu-nps: 3 nodes, 2 sockets"));
}

TEST(DoctorCheck, EccThatIsOff) {
  MemoryMachine machine = h200_node();
  Gpu gpu = h200(0);
  gpu.ecc = false;
  machine.answer("nvidia", {{"gpus", {to_json(gpu, true)}}});
  EXPECT_THAT(lines(machine, {}, {"ecc"}), ElementsAre("WARN ecc [GPU 0 (0000:13:00.0)]: off"));
}

TEST(DoctorCheck, PerformanceLevels) {
  MemoryMachine machine = mi300x_cpx();
  const std::string file = "/power_dpm_force_performance_level";
  machine.write(amd_folder(0) + file, "low\n").write(amd_folder(1) + file, "manual\n");
  machine.write(amd_folder(2) + file, "perf_determinism\n");
  EXPECT_THAT(lines(machine, {}, {"performance-level"}),
              ElementsAre("FAIL performance-level [GPU 0 (0000:13:00.0)]: low",
                          "WARN performance-level [GPU 1 (0000:23:00.0)]: manual",
                          "PASS performance-level [GPU 2 (0000:33:00.0)]: perf_determinism",
                          "PASS performance-level [GPU 3-7]: auto"));
}

TEST(DoctorCheck, NamesAreCheckedAndSuggested) {
  EXPECT_THAT(lines(cpu_container(), {}, {"numa-balncing"}),
              ElementsAre(HasSubstr("did you mean \"numa-balancing\"?")));
}

TEST(DoctorCheck, EveryFindingCanBeActedUpon) {
  for (const MemoryMachine& machine : {mi300x_spx(), mi300x_cpx(), mi355x(), vf_in_vm(),
                                       h200_node(), cpu_container(), malformed()}) {
    for (const FoldedFinding& folded : fold(diagnose(machine, multi_node(), all_checks()))) {
      const Finding& finding = folded.finding;
      EXPECT_NE(finding.found, "") << folded.check->id;
      EXPECT_NE(finding.wanted, "") << folded.check->id;
      EXPECT_NE(finding.why, "") << folded.check->id;
      EXPECT_NE(finding.source, "") << folded.check->id;
      if (finding.judgement == Judgement::warn || finding.judgement == Judgement::fail) {
        EXPECT_NE(finding.fix, "") << folded.check->id;
      }
    }
  }
}

}  // namespace
}  // namespace assay
