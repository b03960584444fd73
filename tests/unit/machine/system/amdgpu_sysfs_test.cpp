// The amdgpu driver's files, as an MI300X and an MI250X show them, from a made-up tree.
#include "machine/system/amdgpu_sysfs.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace assay {
namespace {

const std::string pci = "0000:3b:00.0";
const std::string device_folder = "sys/bus/pci/devices/" + pci + "/";

/// A gpu_metrics file of `size` bytes, all "not supported", with 16-bit values set at offsets.
std::string metrics(std::size_t size, char format, char content,
                    std::initializer_list<std::pair<std::size_t, unsigned>> values) {
  std::string bytes(size, '\xff');
  bytes[0] = static_cast<char>(size & 0xff);
  bytes[1] = static_cast<char>(size >> 8);
  bytes[2] = format;
  bytes[3] = content;
  for (const auto& [offset, value] : values) {
    bytes[offset] = static_cast<char>(value & 0xff);
    bytes[offset + 1] = static_cast<char>(value >> 8);
  }
  return bytes;
}

TEST(AmdgpuSysfs, FactsOfAnMi300x) {
  const TemporaryFolder root;
  root.write(device_folder + "vendor", "0x1002\n");
  root.write(device_folder + "unique_id", "5d1a2b3c4d5e6f70\n");
  root.write(device_folder + "current_compute_partition", "CPX\n");
  root.write(device_folder + "current_memory_partition", "NPS4\n");
  const AmdgpuFacts facts = read_amdgpu_facts(FolderMachine(root.path()), pci);
  EXPECT_EQ(facts.unique_id, "5d1a2b3c4d5e6f70");
  EXPECT_EQ(facts.partition, "CPX/NPS4");
  // A partition's PCI function has no folder of its own: its device's is read.
  EXPECT_EQ(read_amdgpu_facts(FolderMachine(root.path()), "0000:3b:00.5").partition, "CPX/NPS4");
  EXPECT_EQ(read_amdgpu_facts(FolderMachine(root.path()), "0000:3c:00.0").partition, "");
  EXPECT_EQ(read_amdgpu_facts(FolderMachine(root.path()), "").unique_id, "");
}

TEST(AmdgpuSysfs, SensorsOfAnMi300x) {
  const TemporaryFolder root;
  root.write(device_folder + "vendor", "0x1002\n");
  root.write(device_folder + "hwmon/hwmon3/name", "nvme\n");
  root.write(device_folder + "hwmon/hwmon7/name", "amdgpu\n");
  root.write(device_folder + "hwmon/hwmon7/power1_input", "612000000\n");
  root.write(device_folder + "hwmon/hwmon7/temp2_input", "61000\n");
  root.write(device_folder + "hwmon/hwmon7/temp3_input", "55000\n");
  root.write(device_folder + "hwmon/hwmon7/freq1_input", "2100000000\n");
  // Version 1.4; XCD 3 is the slowest, XCD 7 is not supported.
  root.write(device_folder + "gpu_metrics", metrics(288, 1, 4,
                                                    {{240, 2098},
                                                     {242, 2100},
                                                     {244, 2099},
                                                     {246, 1987},
                                                     {248, 2100},
                                                     {250, 2100},
                                                     {252, 2100},
                                                     {280, 1300}}));
  const SensorReading reading = read_amdgpu_sensors(FolderMachine(root.path()), pci);
  EXPECT_DOUBLE_EQ(reading.clock_hz.value_or(0), 1987e6);
  EXPECT_DOUBLE_EQ(reading.memory_clock_hz.value_or(0), 1300e6);
  EXPECT_DOUBLE_EQ(reading.power_watts.value_or(0), 612);
  EXPECT_DOUBLE_EQ(reading.temperature_celsius.value_or(0), 61);
  EXPECT_EQ(reading.throttle_reasons, "");
}

TEST(AmdgpuSysfs, EveryKnownMetricsVersion) {
  struct Version {
    char content;
    std::size_t size, engine, memory;
  };
  for (const Version& version :
       {Version{3, 120, 54, 0}, Version{5, 360, 312, 352}, Version{6, 1664, 264, 304},
        Version{7, 2208, 296, 336}, Version{8, 3872, 296, 336}}) {
    const TemporaryFolder root;
    root.write(device_folder + "vendor", "0x1002\n");
    std::string bytes = metrics(version.size, 1, version.content, {{version.engine, 1700}});
    if (version.memory != 0) {
      bytes = metrics(version.size, 1, version.content,
                      {{version.engine, 1700}, {version.memory, 900}});
    }
    root.write(device_folder + "gpu_metrics", bytes);
    const SensorReading reading = read_amdgpu_sensors(FolderMachine(root.path()), pci);
    EXPECT_DOUBLE_EQ(reading.clock_hz.value_or(0), 1700e6) << "1." << int(version.content);
    EXPECT_EQ(reading.memory_clock_hz.has_value(), version.memory != 0);
  }
}

TEST(AmdgpuSysfs, FallsBackToHwmonAndThenToStarredLevels) {
  const TemporaryFolder root;
  root.write(device_folder + "vendor", "0x1002\n");
  root.write(device_folder + "gpu_metrics", metrics(64, 9, 9, {}));  // an unknown version
  root.write(device_folder + "pp_dpm_sclk", "0: 500Mhz\n1: 1700Mhz *\n");
  root.write(device_folder + "pp_dpm_mclk", "S: 95Mhz *\n0: 900Mhz\n");
  SensorReading reading = read_amdgpu_sensors(FolderMachine(root.path()), pci);
  EXPECT_DOUBLE_EQ(reading.clock_hz.value_or(0), 1700e6);
  EXPECT_DOUBLE_EQ(reading.memory_clock_hz.value_or(0), 95e6);
  root.write(device_folder + "hwmon/hwmon0/name", "amdgpu");
  root.write(device_folder + "hwmon/hwmon0/freq1_input", "1650000000");
  root.write(device_folder + "hwmon/hwmon0/power1_average", "300000000");  // as on an MI250X
  reading = read_amdgpu_sensors(FolderMachine(root.path()), pci);
  EXPECT_DOUBLE_EQ(reading.clock_hz.value_or(0), 1650e6);
  EXPECT_DOUBLE_EQ(reading.power_watts.value_or(0), 300);
}

TEST(AmdgpuSysfs, DamagedFilesGiveNothing) {
  const TemporaryFolder root;
  root.write(device_folder + "vendor", "0x1002\n");
  root.write(device_folder + "gpu_metrics", metrics(100, 1, 4, {}));  // truncated
  root.write(device_folder + "pp_dpm_sclk", "no star, no number\n: *\n7 *\n1: Mhz *\n");
  root.write(device_folder + "hwmon/hwmon0/name", "amdgpu");
  root.write(device_folder + "hwmon/hwmon0/power1_input", "");
  root.write(device_folder + "hwmon/hwmon0/temp1_input", "hot\n");
  const SensorReading reading = read_amdgpu_sensors(FolderMachine(root.path()), pci);
  EXPECT_FALSE(reading.clock_hz);
  EXPECT_FALSE(reading.memory_clock_hz);
  EXPECT_FALSE(reading.power_watts);
  EXPECT_FALSE(reading.temperature_celsius);
  const SensorReading nothing = read_amdgpu_sensors(FolderMachine(root.path()), "0000:ff:00.0");
  EXPECT_FALSE(nothing.clock_hz);
}

}  // namespace
}  // namespace assay
