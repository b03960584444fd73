#include "machine/system/fingerprint.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "core/json.h"
#include "machine/system/recordable_settings.h"
#include "results/store/store.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

/// A small machine: one socket, two cores, a container limited to 1.5 CPUs and 1 GiB.
class SmallMachine {
 public:
  SmallMachine() {
    folder_.write("proc/cpuinfo",
                  "processor : 0\nmodel name\t: Test CPU 9000\nmicrocode\t: 0x1f\n"
                  "flags\t\t: fpu hypervisor avx2\n");
    for (const char* cpu : {"0", "1"}) {
      const std::string base = "sys/devices/system/cpu/cpu" + std::string(cpu) + "/";
      folder_.write(base + "topology/physical_package_id", "0\n");
      folder_.write(base + "topology/core_id", std::string(cpu) + "\n");
    }
    folder_.write("sys/devices/system/cpu/cpu0/cache/index0/level", "3\n");
    folder_.write("sys/devices/system/cpu/cpu0/cache/index0/size", "32768K\n");
    folder_.write("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 17 kB\n");
    folder_.write("proc/self/cgroup", "0::/slice/box\n");
    folder_.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    folder_.write("sys/fs/cgroup/slice/cpu.max", "150000 100000\n");
    folder_.write("sys/fs/cgroup/slice/box/cpu.max", "max 100000\n");
    folder_.write("sys/fs/cgroup/slice/box/memory.max", "1073741824\n");
    folder_.write("sys/class/dmi/id/sys_vendor", "QEMU\n");
    folder_.write(".dockerenv", "");
    folder_.write("etc/os-release", "NAME=x\nPRETTY_NAME=\"Test Linux 1\"\n");
  }
  Json facts() const { return take_fingerprint({}, FolderMachine(folder_.path())); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

TEST(Fingerprint, ReadsEverySource) {
  const Json facts = SmallMachine().facts();
  EXPECT_EQ(facts["cpu"]["model"], "Test CPU 9000");
  EXPECT_EQ(facts["cpu"]["microcode"], "0x1f");
  EXPECT_EQ(facts["cpu"]["sockets"], 1);
  EXPECT_EQ(facts["cpu"]["cores"], 2);
  EXPECT_EQ(facts["cpu"]["caches"][0]["size"], "32768K");
  EXPECT_EQ(facts["memory"]["bytes"], 2048 * 1024);
  EXPECT_EQ(facts["cgroup"]["version"], 2);
  EXPECT_EQ(facts["cgroup"]["cpu_limit"], 1.5);  // an ancestor's limit counts
  EXPECT_EQ(facts["cgroup"]["memory_limit_bytes"], 1073741824);
  EXPECT_EQ(facts["virtualization"]["container"], "docker");
  EXPECT_EQ(facts["virtualization"]["hypervisor"], "kvm");
  EXPECT_EQ(facts["host"]["os"], "Test Linux 1");
}

TEST(Fingerprint, OfThisMachineHoldsWhatOnlyCallsTell) {
  const Json facts = take_fingerprint({});
  EXPECT_TRUE(facts["assay"].contains("git"));
  EXPECT_FALSE(facts["cpu"].value("affinity", "").empty());
  EXPECT_FALSE(facts["host"].value("kernel", "").empty());
  EXPECT_TRUE(facts["libraries"].is_object());
}

TEST(Fingerprint, VersionOneLimits) {
  const SmallMachine machine;
  std::filesystem::remove(machine.folder().path() / "sys/fs/cgroup/cgroup.controllers");
  machine.folder().write("proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n");
  machine.folder().write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n");
  machine.folder().write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  machine.folder().write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const Json facts = machine.facts();
  EXPECT_EQ(facts["cgroup"]["version"], 1);
  EXPECT_EQ(facts["cgroup"]["cpu_limit"], 0.5);
  EXPECT_FALSE(facts["cgroup"].contains("memory_limit_bytes"));
}

TEST(Fingerprint, AnEmptySystemGivesFewFactsAndNoError) {
  const TemporaryFolder empty;
  const Json facts = take_fingerprint({}, FolderMachine(empty.path()));
  EXPECT_TRUE(facts["cgroup"].empty());
  EXPECT_FALSE(facts["memory"].contains("bytes"));
}

TEST(Fingerprint, RelevantVariablesWithoutSecrets) {
  ::setenv("NCCL_DEBUG", "INFO", 1);
  ::setenv("HIP_API_TOKEN", "s3cret", 1);
  ::setenv("HOME_ADDRESS", "private", 1);
  const Variables variables = performance_variables();
  EXPECT_EQ(variables.at("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(variables.at("HIP_API_TOKEN"), recorded_value("HIP_API_TOKEN", "s3cret"));
  EXPECT_EQ(variables.count("HOME_ADDRESS"), 0u);
  ::unsetenv("NCCL_DEBUG");
  ::unsetenv("HIP_API_TOKEN");
}

TEST(Fingerprint, StaysTheSameOnTheSameMachine) {
  EXPECT_EQ(fingerprint_id(take_fingerprint({})), fingerprint_id(take_fingerprint({})));
}

}  // namespace
}  // namespace assay
