#include "machine/system/amdgpu_sysfs.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "machine/system/fact_source.h"
#include "machine/system/gpu_metrics.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Returns the sysfs folder of the device; empty if there is none.
fs::path device_folder(const Machine& machine, const std::string& pci) {
  const fs::path devices = "sys/bus/pci/devices";
  if (pci.empty()) return {};
  if (machine.exists(devices / pci / "vendor")) return devices / pci;
  const fs::path first = devices / (pci.substr(0, pci.rfind('.')) + ".0");
  return machine.exists(first / "vendor") ? first : fs::path();
}

/// Returns the clock on the starred line of a pp_dpm file ("1: 2100Mhz *"), in Hz.
std::optional<double> starred_clock(const Machine& machine, const fs::path& file) {
  std::istringstream text(read_fact(machine, file).value_or(""));
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

/// Returns a hwmon number in SI units; empty if it is absent, unreadable or zero.
std::optional<double> hwmon_value(const Machine& machine, const fs::path& file, double unit) {
  const std::optional<long long> number = read_number(machine, file);
  if (!number || *number <= 0) return std::nullopt;
  return static_cast<double>(*number) * unit;
}

}  // namespace

fs::path amdgpu_hwmon(const Machine& machine, const fs::path& device) {
  for (const std::string& entry : machine.list(device / "hwmon")) {
    const fs::path folder = device / "hwmon" / entry;
    if (read_fact(machine, folder / "name") == "amdgpu") return folder;
  }
  return {};
}

AmdgpuFacts read_amdgpu_facts(const Machine& machine, const std::string& pci) {
  AmdgpuFacts facts;
  const fs::path device = device_folder(machine, pci);
  if (device.empty()) return facts;
  facts.unique_id = read_fact(machine, device / "unique_id").value_or("");
  facts.partition = read_fact(machine, device / "current_compute_partition").value_or("");
  if (const auto memory = read_fact(machine, device / "current_memory_partition")) {
    facts.partition += (facts.partition.empty() ? "" : "/") + *memory;
  }
  return facts;
}

SensorReading read_amdgpu_sensors(const Machine& machine, const std::string& pci) {
  SensorReading reading;
  const fs::path device = device_folder(machine, pci);
  if (device.empty()) return reading;
  const fs::path hwmon = amdgpu_hwmon(machine, device);
  const GpuMetrics metrics = parse_gpu_metrics(machine.read(device / "gpu_metrics").text);

  const auto slowest =
      std::min_element(metrics.engine_clocks_hz.begin(), metrics.engine_clocks_hz.end());
  if (slowest != metrics.engine_clocks_hz.end()) reading.clock_hz = *slowest;
  if (!reading.clock_hz) reading.clock_hz = hwmon_value(machine, hwmon / "freq1_input", 1);
  if (!reading.clock_hz) reading.clock_hz = starred_clock(machine, device / "pp_dpm_sclk");
  reading.memory_clock_hz = metrics.memory_clock_hz;
  if (!reading.memory_clock_hz)
    reading.memory_clock_hz = hwmon_value(machine, hwmon / "freq2_input", 1);
  if (!reading.memory_clock_hz)
    reading.memory_clock_hz = starred_clock(machine, device / "pp_dpm_mclk");
  reading.power_watts = hwmon_value(machine, hwmon / "power1_input", 1e-6);
  if (!reading.power_watts)
    reading.power_watts = hwmon_value(machine, hwmon / "power1_average", 1e-6);
  for (const char* file : {"temp1_input", "temp2_input", "temp3_input"}) {
    const std::optional<double> celsius = hwmon_value(machine, hwmon / file, 1e-3);
    if (!celsius) continue;
    reading.temperature_celsius =
        std::max(reading.temperature_celsius.value_or(*celsius), *celsius);
  }
  return reading;
}

}  // namespace assay
