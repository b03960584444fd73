// Telemetry sources on made-up machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "machine/telemetry/kept_file.h"
#include "machine/telemetry/source.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// All sources of a folder but those that look at this machine, and their readings by name.
class MadeUpMachine {
 public:
  explicit MadeUpMachine(const TemporaryFolder& folder, const std::string& hardware = "",
                         const std::vector<int>& cpus = {0, 1})
      : sources_(open_telemetry_sources({folder.path(), hardware, cpus})) {}

  std::map<std::string, double> read(bool all = true) const {
    std::map<std::string, double> readings;
    const std::vector<Channel> channels = channels_of(sources_);
    const std::vector<double> values = read_sources(sources_, all);
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (!std::isnan(values[i])) readings[channels[i].name()] = values[i];
    }
    return readings;
  }
  std::vector<Channel> channels() const { return channels_of(sources_); }

 private:
  TelemetrySources sources_;
};

const std::string test_device = "sys/bus/pci/devices/0000:3b:00.0/";

/// gpu_metrics 1.6: two XCDs at these MHz, power in W, cycles and those under the power limit.
std::string metrics(unsigned first, unsigned second, unsigned watts, unsigned cycles,
                    unsigned held) {
  std::string bytes(1664, '\xff');
  const auto put = [&](std::size_t offset, auto value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
  };
  put(0, std::uint16_t{1664});
  bytes[2] = 1;
  bytes[3] = 6;
  put(10, static_cast<std::uint16_t>(watts));
  put(32, cycles);
  put(40, held);
  put(264, static_cast<std::uint16_t>(first));
  put(266, static_cast<std::uint16_t>(second));
  return bytes;
}

TEST(KeptFile, ReadsAnewEachTime) {
  const TemporaryFolder folder;
  KeptFile file(folder.write("value", " 42\n"));
  EXPECT_EQ(file.read_number(), 42);
  folder.write("value", "43");
  EXPECT_EQ(file.read_number(0.5), 21.5);
  folder.write("value", "many");
  EXPECT_TRUE(std::isnan(file.read_number()));
  folder.write("value", std::string(20'000, 'x'));
  EXPECT_EQ(file.read_all().size(), 20'000u);
  EXPECT_TRUE(std::isnan(KeptFile(folder.path() / "missing").read_number()));
  EXPECT_THAT(KeptFile(folder.path() / "missing").read_all(), IsEmpty());
}

TEST(KeptFile, NumbersAfterKeys) {
  const std::string text = "usage_usec 5\nnr_throttled 3\nue: 0\nce:\t7\ncpu MHz\t\t: 2596.1\n";
  EXPECT_EQ(number_after(text, "nr_throttled"), 3);
  EXPECT_EQ(number_after(text, "ce"), 7);
  EXPECT_EQ(number_after(text, "cpu MHz"), 2596.1);
  EXPECT_TRUE(std::isnan(number_after(text, "usage")));  // only whole keys match
  EXPECT_TRUE(std::isnan(number_after(text, "throttled")));
  EXPECT_TRUE(std::isnan(number_after("", "ce")));
}

TEST(TelemetrySources, AnEmptyMachineHasNoChannelThatIsRead) {
  const TemporaryFolder folder;
  EXPECT_THAT(MadeUpMachine(folder).read().size(), 0u);
}

TEST(TelemetrySources, ACpuIsNoReasonToOpenGpuLibraries) {
  EXPECT_TRUE(wants_pci_devices({}));
  EXPECT_TRUE(wants_pci_devices({.hardware = "0000:3b:00.0"}));
  EXPECT_FALSE(wants_pci_devices({.hardware = "cpu:0"}));
}

TEST(CpuTelemetry, ClocksOfTheCpusUsedAndTimesOfAll) {
  const TemporaryFolder folder;
  const std::string cpus = "sys/devices/system/cpu/cpu";
  folder.write(cpus + "0/cpufreq/scaling_cur_freq", "3000000\n");
  folder.write(cpus + "1/cpufreq/scaling_cur_freq", "2000000\n");
  folder.write(cpus + "2/cpufreq/scaling_cur_freq", "1000000\n");
  folder.write("proc/stat", "cpu  100 10 20 1000 50 5 5 30 0 0\ncpu0 1 1 1 1\n");
  const MadeUpMachine machine(folder);
  auto readings = machine.read();
  EXPECT_DOUBLE_EQ(readings["cpu.clock_mean"], 2.5e9);
  EXPECT_DOUBLE_EQ(readings["cpu.clock_min"], 2e9);
  EXPECT_DOUBLE_EQ(readings["cpu.clock_max"], 3e9);
  EXPECT_DOUBLE_EQ(readings["cpu.busy"], 1.7);
  EXPECT_DOUBLE_EQ(readings["cpu.steal"], 0.3);
  EXPECT_DOUBLE_EQ(readings["cpu.total"], 12.2);
  EXPECT_EQ(machine.read(false).count("cpu.steal"), 0u);  // a slow channel
}

TEST(CpuTelemetry, WithoutCpufreqClocksAreInCpuinfo) {
  const TemporaryFolder folder;
  const std::string cpus =
      "processor\t: 0\ncpu MHz\t\t: 2000.5\nflags\t\t: fpu FLAGS\n\nprocessor\t: 1\n"
      "cpu MHz\t\t: 3000\n\nprocessor\t: 7\ncpu MHz\t\t: 9000\n";
  const auto with_flags = [&](const std::string& flags) {
    std::string text = cpus;
    text.replace(text.find("FLAGS"), 5, flags);
    folder.write("proc/cpuinfo", text);
    return MadeUpMachine(folder);
  };
  const MadeUpMachine metal = with_flags("vme");
  EXPECT_DOUBLE_EQ(metal.read()["cpu.clock_max"], 3e9);
  EXPECT_DOUBLE_EQ(metal.read()["cpu.clock_min"], 2000.5e6);
  EXPECT_THAT(metal.read(false), IsEmpty());
  // A virtual machine shows its nominal clock, unless it may read the counters.
  EXPECT_EQ(with_flags("vme hypervisor lahf_lm").read().count("cpu.clock_max"), 0u);
  EXPECT_EQ(with_flags("vme hypervisor").read().count("cpu.clock_max"), 0u);
  EXPECT_DOUBLE_EQ(with_flags("aperfmperf hypervisor").read()["cpu.clock_max"], 3e9);
}

TEST(RaplTelemetry, EnergyOfPackagesGoesOnWhereTheCounterWraps) {
  const TemporaryFolder folder;
  const std::string zone = "sys/class/powercap/intel-rapl:0/";
  folder.write(zone + "name", "package-0\n");
  folder.write(zone + "max_energy_range_uj", "10000000\n");
  folder.write(zone + "energy_uj", "9000000\n");
  folder.write("sys/class/powercap/intel-rapl:0:0/name", "core\n");
  folder.write("sys/class/powercap/intel-rapl:0:0/energy_uj", "1\n");
  const MadeUpMachine machine(folder);
  EXPECT_DOUBLE_EQ(machine.read()["cpu.package-0.energy"], 9);
  folder.write(zone + "energy_uj", "2000000\n");
  EXPECT_DOUBLE_EQ(machine.read()["cpu.package-0.energy"], 12);
  folder.write(zone + "energy_uj", "3000000\n");
  EXPECT_DOUBLE_EQ(machine.read()["cpu.package-0.energy"], 13);
  EXPECT_EQ(machine.read().count("cpu.core.energy"), 0u);
}

TEST(CgroupTelemetry, ThrottledTimeOfBothVersions) {
  const TemporaryFolder second;
  second.write("proc/self/cgroup", "0::/box\n");
  second.write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
  second.write("sys/fs/cgroup/box/cpu.stat", "nr_throttled 4\nthrottled_usec 2500000\n");
  auto readings = MadeUpMachine(second).read();
  EXPECT_DOUBLE_EQ(readings["cgroup.throttled"], 2.5);
  EXPECT_DOUBLE_EQ(readings["cgroup.throttled_periods"], 4);

  const TemporaryFolder first;
  first.write("proc/self/cgroup", "3:cpu,cpuacct:/\n");
  first.write("sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 4\nthrottled_time 1500000000\n");
  EXPECT_DOUBLE_EQ(MadeUpMachine(first).read()["cgroup.throttled"], 1.5);
}

TEST(AmdTelemetry, EverythingFromOneTableAndTheRestFromFiles) {
  const TemporaryFolder folder;
  folder.write("sys/bus/pci/drivers/amdgpu/0000:3b:00.0/vendor", "0x1002\n");
  folder.write("sys/bus/pci/drivers/amdgpu/bind", "");
  folder.write(test_device + "gpu_metrics", metrics(2100, 1987, 612, 1000, 10));
  folder.write(test_device + "hwmon/hwmon3/name", "amdgpu\n");
  folder.write(test_device + "hwmon/hwmon3/power1_input",
               "1000000\n");  // the table takes precedence
  folder.write(test_device + "hwmon/hwmon3/temp2_input", "61000\n");
  folder.write(test_device + "mem_info_vram_used", "12345\n");
  folder.write(test_device + "ras/umc_err_count", "ue: 1\nce: 3\n");
  const MadeUpMachine machine(folder);
  auto readings = machine.read();
  EXPECT_DOUBLE_EQ(readings["gpu0.clock.xcd0"], 2100e6);
  EXPECT_DOUBLE_EQ(readings["gpu0.clock.xcd1"], 1987e6);
  EXPECT_DOUBLE_EQ(readings["gpu0.power"], 612);
  EXPECT_DOUBLE_EQ(readings["gpu0.temperature"], 61);
  EXPECT_DOUBLE_EQ(readings["gpu0.memory_used"], 12345);
  EXPECT_DOUBLE_EQ(readings["gpu0.ecc_corrected"], 3);
  EXPECT_DOUBLE_EQ(readings["gpu0.ecc_uncorrected"], 1);
  EXPECT_DOUBLE_EQ(readings["gpu0.throttle.cycles"], 1000);
  EXPECT_EQ(readings.count("gpu0.energy"), 0u);  // this table does not support it
  EXPECT_EQ(machine.read(false).count("gpu0.memory_used"), 0u);
  // Later contents are read again, and a table that becomes invalid gives no readings.
  folder.write(test_device + "gpu_metrics", metrics(1500, 1400, 300, 2000, 500));
  EXPECT_DOUBLE_EQ(machine.read()["gpu0.clock.xcd0"], 1500e6);
  folder.write(test_device + "gpu_metrics", "short");
  EXPECT_EQ(machine.read().count("gpu0.clock.xcd0"), 0u);
}

TEST(AmdTelemetry, ErrorCountsOfADriverThatReadsThemThroughAca) {
  const TemporaryFolder folder;
  folder.write("sys/bus/pci/drivers/amdgpu/0000:3b:00.0/vendor", "0x1002\n");
  folder.write(test_device + "ras/aca_umc", "ue: 1\nce: 3\nde: 4\n");
  const MadeUpMachine machine(folder);
  EXPECT_DOUBLE_EQ(machine.read()["gpu0.ecc_corrected"], 3);
  EXPECT_DOUBLE_EQ(machine.read()["gpu0.ecc_uncorrected"], 5);
  folder.write(test_device + "ras/aca_umc", "Query currently inaccessible\n");
  EXPECT_EQ(machine.read().count("gpu0.ecc_uncorrected"), 0u);
}

TEST(AmdTelemetry, AnXcdThatSleepsDoesNotShiftTheOthers) {
  const TemporaryFolder folder;
  folder.write("sys/bus/pci/drivers/amdgpu/0000:3b:00.0/vendor", "0x1002\n");
  folder.write(test_device + "gpu_metrics",
               metrics(2100, 0, 612, 1000, 10));  // asleep since the start
  const std::string node = "sys/class/kfd/kfd/topology/nodes/1/properties";
  const auto count_channels = [&] {
    std::size_t clocks = 0;
    for (const Channel& channel : MadeUpMachine(folder).channels()) {
      if (channel.quantity.starts_with("clock.xcd")) ++clocks;
    }
    return clocks;
  };
  EXPECT_EQ(count_channels(), 2u);
  folder.write(node, "simd_count 304\nnum_xcc 6\nlocation_id 15104\n");
  EXPECT_EQ(count_channels(), 6u);
  folder.write(node, "simd_count 76\nnum_xcc 2\nlocation_id 15104\n");
  const MadeUpMachine machine(folder);
  EXPECT_EQ(machine.read().count("gpu0.clock.xcd1"), 0u);
  folder.write(test_device + "gpu_metrics", metrics(0, 1987, 612, 1000, 10));
  auto readings = machine.read();
  EXPECT_EQ(readings.count("gpu0.clock.xcd0"), 0u);
  EXPECT_DOUBLE_EQ(readings["gpu0.clock.xcd1"], 1987e6);
}

TEST(AmdTelemetry, AnMi200SaysWhetherItIsThrottled) {
  const TemporaryFolder folder;
  folder.write("sys/bus/pci/drivers/amdgpu/0000:3b:00.0/vendor", "0x1002\n");
  std::string table(120, '\xff');
  table.replace(0, 4, std::string("\x78\0\x01\x03", 4));  // 120 bytes, version 1.3
  table.replace(112, 8, std::string(8, '\0'));
  folder.write(test_device + "gpu_metrics", table);
  const MadeUpMachine machine(folder);
  EXPECT_EQ(machine.read().at("gpu0.throttled"), 0);
  table[116] = 0x10;
  folder.write(test_device + "gpu_metrics", table);
  EXPECT_EQ(machine.read().at("gpu0.throttled"), 1);
}

TEST(AmdTelemetry, APartitionIsReadThroughItsSocketAndOthersAreLeftAlone) {
  const TemporaryFolder folder;
  for (const char* pci : {"0000:3b:00.0", "0000:5d:00.0"}) {
    folder.write(std::string("sys/bus/pci/drivers/amdgpu/") + pci + "/vendor", "");
    folder.write(std::string("sys/bus/pci/devices/") + pci + "/gpu_metrics",
                 metrics(2100, 2100, 600, 1, 0));
  }
  const auto hardware = [&](const std::string& wanted) {
    std::vector<std::string> found;
    for (const Channel& channel : MadeUpMachine(folder, wanted).channels()) {
      if (channel.quantity == "power") found.push_back(channel.name() + " " + channel.hardware);
    }
    return found;
  };
  EXPECT_THAT(hardware(""), ElementsAre("gpu0.power 0000:3b:00.0", "gpu1.power 0000:5d:00.0"));
  EXPECT_THAT(hardware("0000:5d:00.3"), ElementsAre("gpu0.power 0000:5d:00.0"));
  EXPECT_THAT(hardware("cpu:0"), IsEmpty());
}

}  // namespace
}  // namespace assay
