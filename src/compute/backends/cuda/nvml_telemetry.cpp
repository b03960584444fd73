// NVIDIA accelerators as a telemetry source. Readings that need more than the latest sensor values
// of the board's controller are marked slow, and so are readings that hardly change.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compute/backends/cuda/nvml.h"
#include "compute/backends/cuda/nvml_facts.h"
#include "machine/telemetry/source.h"

namespace assay::cuda::nvml_telemetry {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr ChannelKind gauge = ChannelKind::gauge, counter = ChannelKind::counter;

double number(int (*function)(NvmlDevice*, unsigned*), NvmlDevice* device) {
  unsigned value = 0;
  return nvml_ok(function, device, &value) ? value : nan;
}
double clock_of(const NvmlApi& api, NvmlDevice* device, int type) {
  unsigned megahertz = 0;
  return nvml_ok(api.clock, device, type, &megahertz) ? megahertz * 1e6 : nan;
}
/// Returns instantaneous power if the driver has it, otherwise the mean over one second.
double power(const NvmlApi& api, NvmlDevice* device) {
  const double now = field_value(api, device, nvml::field_power_instant);
  return (std::isnan(now) ? number(api.power, device) : now) / 1e3;
}
double energy(const NvmlApi& api, NvmlDevice* device) {
  unsigned long long millijoules = 0;
  return nvml_ok(api.energy, device, &millijoules) ? static_cast<double>(millijoules) / 1e3 : nan;
}
double temperature(const NvmlApi& api, NvmlDevice* device) {
  unsigned celsius = 0;
  return nvml_ok(api.temperature, device, nvml::sensor_gpu, &celsius) ? celsius : nan;
}
double reasons(const NvmlApi& api, NvmlDevice* device) {
  unsigned long long bits = 0;
  return nvml_ok(api.throttle_reasons, device, &bits) ? static_cast<double>(bits) : nan;
}
double utilization(const NvmlApi& api, NvmlDevice* device, unsigned NvmlUtilization::*of) {
  NvmlUtilization percent{};
  return nvml_ok(api.utilization, device, &percent) ? percent.*of / 100.0 : nan;
}
double memory_used(const NvmlApi& api, NvmlDevice* device) {
  NvmlMemory2 memory2{};
  memory2.version = nvml::memory2_version;
  if (nvml_ok(api.memory2, device, &memory2)) return static_cast<double>(memory2.used);
  NvmlMemory memory{};
  return nvml_ok(api.memory, device, &memory) ? static_cast<double>(memory.used) : nan;
}
double nvlink_bytes(const NvmlApi& api, NvmlDevice* device, unsigned field) {
  return field_value(api, device, field, nvml::all_links) * 1024;
}
double errors(const NvmlApi& api, NvmlDevice* device, int type) {
  unsigned long long count = 0;
  return nvml_ok(api.ecc_errors, device, type, nvml::ecc_volatile, &count)
             ? static_cast<double>(count)
             : nan;
}
double generation_speed(const NvmlApi& api, NvmlDevice* device) {
  const double generation = number(api.pcie_generation, device);
  return std::isnan(generation) ? nan : pcie_speed_gts(static_cast<unsigned>(generation));
}

struct Reading {
  const char* quantity;
  const char* unit;
  ChannelKind kind;
  bool slow;
  double (*read)(const NvmlApi& api, NvmlDevice* device);
};
using Api = const NvmlApi&;
using Device = NvmlDevice*;
// clang-format off
constexpr Reading readings[] = {
    {"clock", "Hz", gauge, false, [](Api a, Device d) { return clock_of(a, d, nvml::clock_sm); }},
    {"memory_clock", "Hz", gauge, false, [](Api a, Device d) { return clock_of(a, d, nvml::clock_memory); }},
    {"power", "W", gauge, false, &power},
    {"energy", "J", counter, true, &energy},  // 4 ms of CPU on an H200; the others 0.03 ms
    {"temperature", "degC", gauge, false, &temperature},
    {"throttle_reasons", "bits", gauge, false, &reasons},
    {"utilisation", "1", gauge, false, [](Api a, Device d) { return utilization(a, d, &NvmlUtilization::gpu); }},
    {"memory_utilisation", "1", gauge, true, [](Api a, Device d) { return utilization(a, d, &NvmlUtilization::memory); }},
    {"memory_temperature", "degC", gauge, true, [](Api a, Device d) { return field_value(a, d, nvml::field_memory_temperature); }},
    {"memory_used", "bytes", gauge, true, &memory_used},
    {"pcie_speed", "GT/s", gauge, true, &generation_speed},
    {"pcie_width", "1", gauge, true, [](Api a, Device d) { return number(a.pcie_width, d); }},
    {"pcie_replays", "1", counter, true, [](Api a, Device d) { return number(a.pcie_replays, d); }},
    {"nvlink_sent", "bytes", counter, true, [](Api a, Device d) { return nvlink_bytes(a, d, nvml::field_nvlink_sent); }},
    {"nvlink_received", "bytes", counter, true, [](Api a, Device d) { return nvlink_bytes(a, d, nvml::field_nvlink_received); }},
    {"ecc_corrected", "1", counter, true, [](Api a, Device d) { return errors(a, d, nvml::ecc_corrected); }},
    {"ecc_uncorrected", "1", counter, true, [](Api a, Device d) { return errors(a, d, nvml::ecc_uncorrected); }},
};
// clang-format on

class NvmlSource final : public TelemetrySource {
 public:
  NvmlSource(const Nvml& nvml, const TelemetryRequest& request) : api_(nvml.api()) {
    int index = request.first_gpu;
    for (NvmlDevice* const device : nvml.devices()) {
      NvmlPci pci{};
      if (!nvml_ok(api_.pci, device, &pci)) continue;
      if (!request.hardware.empty() && pci_text(pci) != request.hardware) continue;
      add(device, fmt::format("gpu{}", index++), pci_text(pci));
    }
  }

  const std::vector<Channel>& channels() const override { return channels_; }

  void read(std::span<double> values, bool all) override {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const auto& [device, reading] = used_[i];
      if (!all && reading->slow) continue;
      values[i] = reading->read(api_, device);
      if (reading->read != &reasons) continue;
      // These follow from the same reading.
      const double bits = values[i];
      values[++i] = has_reason(bits, nvml::real_throttling);
      values[++i] = has_reason(bits, nvml::at_power_limit);
    }
  }

 private:
  /// Adds every reading that the device supports now.
  void add(NvmlDevice* device, const std::string& name, const std::string& pci) {
    for (const Reading& reading : readings) {
      if (std::isnan(reading.read(api_, device))) continue;
      channels_.push_back({name, reading.quantity, reading.unit, reading.kind, pci});
      used_.push_back({device, &reading});
      if (reading.read == &reasons) {
        for (const char* const follows : {"throttled", "power_limited"}) {
          channels_.push_back({name, follows, "1", gauge, pci});
          used_.push_back({device, nullptr});
        }
      }
    }
  }

  static double has_reason(double bits, unsigned long long any_of) {
    if (std::isnan(bits)) return nan;
    return (static_cast<unsigned long long>(bits) & any_of) != 0 ? 1 : 0;
  }

  const NvmlApi& api_;
  std::vector<Channel> channels_;
  // null: follows from an entry before it
  std::vector<std::pair<NvmlDevice*, const Reading*>> used_;
};

const TelemetrySourceRegistry::Add registered{
    {"nvml", [](const TelemetryRequest& request) -> std::unique_ptr<TelemetrySource> {
       if (request.root != "/" || !wants_pci_devices(request)) return nullptr;
       const auto& nvml = Nvml::shared();
       if (!nvml) return nullptr;
       auto source = std::make_unique<NvmlSource>(*nvml.value(), request);
       if (source->channels().empty()) return nullptr;
       return source;
     }}};

}  // namespace
}  // namespace assay::cuda::nvml_telemetry
