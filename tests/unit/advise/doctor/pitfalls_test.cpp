// Checks of assay doctor where one look misleads: hidden GPUs, intents, counters, copied folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>

#include "advise/doctor/gpu_model.h"
#include "advise/doctor/intent.h"
#include "machines/machines.h"
#include "unit/doctor_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DoctorCheck, AContainerThatGotTwoOfEightGpus) {
  MemoryMachine machine = mi300x_cpx();
  AmdNode node;
  add_kfd(machine, node);  // SPX
  for (int gpu = 0; gpu < 8; ++gpu) {
    machine.write(amd_folder(gpu) + "/current_compute_partition", "SPX\n");
  }
  const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
  for (int hidden = 10; hidden < 66; ++hidden) {
    machine.erase(fmt::format("{}{}/properties", nodes, hidden));
    for (int link = 0; link < 7; ++link) {
      machine.erase(fmt::format("{}{}/io_links/{}/properties", nodes, hidden, link));
    }
  }
  for (int hidden = 4; hidden < 10; ++hidden) {
    machine.withhold(fmt::format("{}{}/properties", nodes, hidden));
  }
  EXPECT_THAT(lines(machine, {}, {"gpu-links", "mesh-collectives", "nccl-min-nchannels"}),
              ElementsAre("PASS gpu-links [GPU 0-1]: 1 xGMI links up",
                          "UNKNOWN gpu-links [GPU 2-7]: KFD hides it: outside this process's "
                          "control group",
                          "WARN mesh-collectives: 2 of 8 GPUs", "n/a nccl-min-nchannels"));
  machine.write("sys/fs/cgroup/box/cpu.max", "400000 100000\n");
  EXPECT_THAT(lines(machine, {}, {"cpu-quota"}),
              ElementsAre("WARN cpu-quota: quota of 4 CPUs, 192 visible"));
}

TEST(DoctorCheck, OnlyThePartsOfAPartitionModeThatAreGiven) {
  Intent intent;
  intent.partition = "SPX";
  EXPECT_THAT(lines(mi355x(), intent, {"partition-mode"}),
              ElementsAre("PASS partition-mode [GPU 0-7]: SPX/NPS1"));
  intent.partition = "NPS4";
  EXPECT_THAT(lines(mi300x_cpx(), intent, {"partition-mode"}),
              ElementsAre("PASS partition-mode [GPU 0-7]: CPX/NPS4"));
  EXPECT_EQ(first_finding(mi355x(), "partition-mode", intent).fix,
            "sudo amd-smi set --gpu all --memory-partition NPS4");
}

TEST(DoctorCheck, ImpossibleIntents) {
  for (const char* mode : {"", "SPX", "NPS4", "CPX/NPS4", "MIG"}) {
    EXPECT_TRUE(check_partition(mode).ok()) << mode;
  }
  for (const char* mode : {"FOO", "SPX/", "SPX/FOO", "NPS1/SPX", "MIG/NPS1", "/"}) {
    const Status status = check_partition(mode);
    ASSERT_FALSE(status.ok()) << mode;
    EXPECT_THAT(status.error().message, HasSubstr("SPX DPX TPX QPX CPX, NPS1 NPS2 NPS4 NPS8"));
  }
  Intent intent;
  intent.partition = "MIG";
  EXPECT_FALSE(check_intent(intent, read_gpus(mi355x())).ok());
  EXPECT_TRUE(check_intent(intent, read_gpus(h200_node())).ok());
  EXPECT_FALSE(check_intent(with_gpus(16), read_gpus(mi355x())).ok());
  EXPECT_TRUE(check_intent(with_gpus(8), read_gpus(mi355x())).ok());
  EXPECT_TRUE(check_intent(with_gpus(64), read_gpus(mi300x_cpx())).ok());  // partitions
  intent = with_gpus(16);
  intent.multi_node = true;
  EXPECT_TRUE(check_intent(intent, read_gpus(mi355x())).ok());
}

TEST(DoctorCheck, AJobOverSeveralNodesIsJudgedPerNode) {
  Intent intent = with_gpus(16);
  intent.multi_node = true;
  EXPECT_THAT(lines(mi355x(), intent, {"mesh-collectives"}),
              ElementsAre("PASS mesh-collectives: 8 of 8 GPUs"));
  intent.gpus = 12;
  EXPECT_THAT(lines(mi355x(), intent, {"mesh-collectives"}),
              ElementsAre("FAIL mesh-collectives: 6 of 8 GPUs"));
}

TEST(DoctorCheck, GpusThatAContainerHidesAreNotCountedForAJob) {
  std::vector<Gpu> gpus = read_gpus(mi355x());
  for (std::size_t i = 4; i < gpus.size(); ++i) gpus[i].visible = false;
  EXPECT_TRUE(check_intent(with_gpus(4), gpus).ok());
  const Status six = check_intent(with_gpus(6), gpus);
  ASSERT_FALSE(six.ok());
  EXPECT_THAT(six.error().message, HasSubstr("--gpus 6: 4 can be used here; 1 to 4 are allowed"));
  Intent intent = with_gpus(16);
  intent.multi_node = true;
  const MemoryMachine machine = mi355x();
  const Virtualization virtualization;
  EXPECT_EQ(gpus_used({machine, gpus, intent, virtualization, {}}), 4);
}

TEST(DoctorCheck, CapabilitiesOfAUserNamespaceLiftNoLimit) {
  MemoryMachine machine = mi300x_cpx();
  machine.write("proc/self/limits", "Max locked memory         65536   65536   bytes\n");
  machine.write("proc/self/status", "CapEff:\t000001ffffffffff\n");
  machine.answer("namespaces", {{"user", 4026532178u}});
  EXPECT_THAT(lines(machine, {}, {"memlock"}), ElementsAre("WARN memlock: 64 KiB"));
}

TEST(DoctorCheck, AFolderDoesNotSayWhichVariablesWereSet) {
  MemoryMachine machine = mi355x();
  machine.answer("uname", Json());
  for (const std::string id : {"debug-variables", "gpu-max-hw-queues"}) {
    EXPECT_THAT(lines(machine, multi_node(), {id}),
                ElementsAre(fmt::format(
                    "UNKNOWN {}: this folder does not say which variables were set", id)));
  }
  machine = mi300x_spx();
  machine.answer("uname", Json());
  for (const std::string& line : lines(machine)) {
    if (line.starts_with("WARN pci-realloc")) continue;  // a kernel option
    EXPECT_EQ(line.find("not set"), std::string::npos) << line;
  }
}

TEST(DoctorCheck, ALargeBarMattersLessOnGraphicsCards) {
  MemoryMachine machine = h200_node();
  const auto line = [&](const char* name) {
    Gpu gpu = h200(0);
    gpu.name = name;
    gpu.visible_memory_bytes = 256 << 20;
    machine.answer("nvidia", {{"gpus", {to_json(gpu, true)}}});
    return lines(machine, {}, {"large-bar"}).front().substr(0, 4);
  };
  EXPECT_EQ(line("NVIDIA H200"), "FAIL");
  EXPECT_EQ(line("NVIDIA A100-SXM4-80GB"), "FAIL");
  EXPECT_EQ(line("NVIDIA H200 NVL"), "WARN");
  EXPECT_EQ(line("NVIDIA GeForce RTX 4090"), "WARN");
}

/// One whose gpu_metrics is another table when a GPU's file is read for the `change`th time.
class RunningMachine final : public Machine {
 public:
  RunningMachine(MemoryMachine machine, std::string later, int change)
      : machine_(std::move(machine)), later_(std::move(later)), change_(change) {}
  FileText read(const std::filesystem::path& path) const override {
    if (path.filename() != "gpu_metrics") return machine_.read(path);
    reads = ++reads_[path.string()];
    return reads >= change_ ? FileText{FileState::found, later_} : machine_.read(path);
  }
  std::vector<std::string> list(const std::filesystem::path& folder) const override {
    return machine_.list(folder);
  }
  std::filesystem::path resolve(const std::filesystem::path& path) const override {
    return machine_.resolve(path);
  }
  FileState access(const std::filesystem::path& path) const override {
    return machine_.access(path);
  }
  const Variables& variables() const override { return machine_.variables(); }
  Json ask(std::string_view probe) const override { return machine_.ask(probe); }

  mutable int reads = 0;  ///< how often the last file was read

 private:
  MemoryMachine machine_;
  std::string later_;
  int change_;
  mutable std::map<std::string, int> reads_;
};

TEST(DoctorCheck, ThrottlingIsJudgedByWhatHappensNow) {
  const Ids ids = {"throttling"};
  const auto checks = find_checks(ids);
  const auto found = [&](std::uint32_t hot) {
    const std::string later = MetricsTable(6).throttled(1000100, 25000 + hot).bytes();
    const RunningMachine still(mi300x_cpx(), later, 1000);
    diagnose(still, {}, *checks, true);
    const RunningMachine machine(mi300x_cpx(), later, still.reads);  // the last reading differs
    // GPU 1, which was hot for 2.5% of the time.
    const Diagnosis diagnosis = diagnose(machine, {}, *checks, true);
    const Finding& finding = diagnosis.results.front().findings.at(1);
    return fmt::format("{}: {}", name_of(finding.judgement), finding.found);
  };
  EXPECT_EQ(found(0),
            "PASS: no heat or brake now; heat of the socket limited the clock for 2.5% of the time "
            "since the driver was loaded");
  EXPECT_EQ(found(50), "WARN: heat of the socket limits the clock for 50% of the time now");
}

TEST(DoctorCheck, ThrottlingNamesTheLargestCauseAndSmallShares) {
  MemoryMachine machine = mi300x_cpx();
  std::string metrics = MetricsTable(6).throttled(1000000, 25000).bytes();
  const std::uint32_t brake = 2000;
  std::memcpy(metrics.data() + 36, &brake, sizeof brake);
  machine.write(amd_folder(0) + "/gpu_metrics", metrics);
  machine.write(amd_folder(1) + "/gpu_metrics", MetricsTable(6).throttled(1000000, 500).bytes());
  EXPECT_THAT(lines(machine, {}, {"throttling"}),
              ElementsAre("WARN throttling [GPU 0 (0000:13:00.0)]: heat of the socket limited the "
                          "clock for 2.5% of the time since the driver was loaded",
                          "PASS throttling [GPU 1 (0000:23:00.0)]: heat of the socket limited the "
                          "clock for 0.05% of the time since the driver was loaded",
                          "PASS throttling [GPU 2-7]: no heat or brake since the driver was "
                          "loaded"));
}

TEST(DoctorCheck, ReasonsThatDifferOnlyInTheGpuAreMerged) {
  MemoryMachine machine = mi300x_cpx();
  for (int gpu = 0; gpu < 8; ++gpu) machine.erase(amd_folder(gpu) + "/gpu_metrics");
  EXPECT_THAT(lines(machine, {}, {"throttling", "xcd-clocks"}),
              ElementsAre("UNKNOWN throttling [GPU 0-7]: gpu_metrics: does not exist",
                          "UNKNOWN xcd-clocks [GPU 0-7]: gpu_metrics: does not exist"));
}

}  // namespace
}  // namespace assay
