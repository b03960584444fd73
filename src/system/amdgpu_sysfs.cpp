#include "system/amdgpu_sysfs.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sstream>

#include "core/read_file.h"
#include "system/fact_source.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The sysfs folder of the device; empty if there is none.
fs::path device_folder(const fs::path& root, const std::string& pci) {
  const fs::path devices = root / "sys/bus/pci/devices";
  std::error_code ignored;
  if (pci.empty()) return {};
  if (fs::exists(devices / pci / "vendor", ignored)) return devices / pci;
  const fs::path first = devices / (pci.substr(0, pci.rfind('.')) + ".0");
  return fs::exists(first / "vendor", ignored) ? first : fs::path();
}

/// The folder of the hwmon device named amdgpu.
fs::path hwmon_folder(const fs::path& device) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(device / "hwmon", ignored)) {
    if (read_fact(entry.path(), "name") == "amdgpu") return entry.path();
  }
  return {};
}

/// The clock of the starred line of a pp_dpm file ("1: 2100Mhz *"), in Hz.
std::optional<double> starred_clock(const fs::path& device, const char* file) {
  std::istringstream text(read_fact(device, file).value_or(""));
  for (std::string line; std::getline(text, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.find('*') == std::string::npos) continue;
    const std::size_t digits = line.find_first_of("0123456789", colon);
    double megahertz = 0;
    if (digits == std::string::npos) continue;
    if (std::from_chars(line.data() + digits, line.data() + line.size(), megahertz).ec ==
        std::errc()) {
      return megahertz * 1e6;
    }
  }
  return std::nullopt;
}

/// Where gpu_metrics of one version keeps the 16-bit clocks, in MHz.
struct MetricsLayout {
  std::uint8_t format, content;
  std::size_t engine_clocks;  // bytes from the start
  int engine_count;           // one per XCD
  std::size_t memory_clock;   // 0: not known
};
// Offsets of kgd_pp_interface.h; other versions are read through the text files only.
constexpr MetricsLayout metrics_layouts[] = {
    {1, 3, 54, 1, 0},    {1, 4, 240, 8, 280}, {1, 5, 312, 8, 352},
    {1, 6, 264, 8, 304}, {1, 7, 296, 8, 336}, {1, 8, 296, 8, 336},
};

struct MetricsClocks {
  std::optional<double> engine_hz, memory_hz;
};

MetricsClocks read_metrics(const fs::path& device) {
  MetricsClocks clocks;
  const std::string bytes = read_file(device / "gpu_metrics").value_or("");
  if (bytes.size() < 4) return clocks;
  const auto at = [&](std::size_t offset) -> std::optional<double> {
    std::uint16_t value = 0;
    if (offset == 0 || offset + sizeof(value) > bytes.size()) return std::nullopt;
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    if (value == 0 || value == 0xffff) return std::nullopt;  // all ones: not supported
    return value * 1e6;
  };
  for (const MetricsLayout& layout : metrics_layouts) {
    if (static_cast<std::uint8_t>(bytes[2]) != layout.format ||
        static_cast<std::uint8_t>(bytes[3]) != layout.content) {
      continue;
    }
    for (int i = 0; i < layout.engine_count; ++i) {
      const std::optional<double> clock = at(layout.engine_clocks + 2 * std::size_t(i));
      if (clock) clocks.engine_hz = std::min(clocks.engine_hz.value_or(*clock), *clock);
    }
    clocks.memory_hz = at(layout.memory_clock);
  }
  return clocks;
}

/// A hwmon number scaled to SI units; empty if it is absent, unreadable or zero.
std::optional<double> hwmon_value(const fs::path& hwmon, std::string_view file, double unit) {
  const std::optional<long long> number = read_number(hwmon, file);
  if (!number || *number <= 0) return std::nullopt;
  return static_cast<double>(*number) * unit;
}

}  // namespace

AmdgpuFacts read_amdgpu_facts(const fs::path& root, const std::string& pci) {
  AmdgpuFacts facts;
  const fs::path device = device_folder(root, pci);
  if (device.empty()) return facts;
  facts.unique_id = read_fact(device, "unique_id").value_or("");
  facts.partition = read_fact(device, "current_compute_partition").value_or("");
  if (const auto memory = read_fact(device, "current_memory_partition")) {
    facts.partition += (facts.partition.empty() ? "" : "/") + *memory;
  }
  return facts;
}

SensorReading read_amdgpu_sensors(const fs::path& root, const std::string& pci) {
  SensorReading reading;
  const fs::path device = device_folder(root, pci);
  if (device.empty()) return reading;
  const fs::path hwmon = hwmon_folder(device);
  const MetricsClocks clocks = read_metrics(device);

  reading.clock_hz = clocks.engine_hz;
  if (!reading.clock_hz) reading.clock_hz = hwmon_value(hwmon, "freq1_input", 1);
  if (!reading.clock_hz) reading.clock_hz = starred_clock(device, "pp_dpm_sclk");
  reading.memory_clock_hz = clocks.memory_hz;
  if (!reading.memory_clock_hz) reading.memory_clock_hz = hwmon_value(hwmon, "freq2_input", 1);
  if (!reading.memory_clock_hz) reading.memory_clock_hz = starred_clock(device, "pp_dpm_mclk");
  reading.power_watts = hwmon_value(hwmon, "power1_input", 1e-6);
  if (!reading.power_watts) reading.power_watts = hwmon_value(hwmon, "power1_average", 1e-6);
  for (const char* file : {"temp1_input", "temp2_input", "temp3_input"}) {
    const std::optional<double> celsius = hwmon_value(hwmon, file, 1e-3);
    if (!celsius) continue;
    reading.temperature_celsius =
        std::max(reading.temperature_celsius.value_or(*celsius), *celsius);
  }
  return reading;
}

}  // namespace assay
