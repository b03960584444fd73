#include "advise/health/device_condition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "core/optional_json_members.h"
#include "core/units.h"
#include "machine/telemetry/source.h"

namespace assay::health {

DeviceCondition condition_of(const Device& device) {
  DeviceCondition condition;
  condition.sensors = device.sense();
  if (device.facts().pci.empty()) return condition;
  TelemetryRequest request;
  request.hardware = device.facts().pci;
  const TelemetrySources sources = open_telemetry_sources(std::move(request));
  const std::vector<Channel> channels = channels_of(sources);
  const std::vector<double> values = read_sources(sources, true);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    if (channels[i].quantity == "ecc_corrected") condition.ecc_corrected = values[i];
    if (channels[i].quantity == "ecc_uncorrected") condition.ecc_uncorrected = values[i];
  }
  return condition;
}

std::string text_of(const DeviceCondition& condition) {
  const SensorReading& sensors = condition.sensors;
  std::vector<std::string> parts;
  if (sensors.clock_hz) parts.push_back(format_frequency(*sensors.clock_hz));
  if (sensors.temperature_celsius) {
    parts.push_back(fmt::format("{:.0f} C", *sensors.temperature_celsius));
  }
  if (sensors.power_watts) parts.push_back(fmt::format("{:.0f} W", *sensors.power_watts));
  if (!sensors.throttle_reasons.empty()) parts.push_back("throttled: " + sensors.throttle_reasons);
  if (condition.ecc_corrected) {
    parts.push_back(fmt::format("{:.0f} corrected memory errors", *condition.ecc_corrected));
  }
  if (condition.ecc_uncorrected) {
    parts.push_back(fmt::format("{:.0f} uncorrected memory errors", *condition.ecc_uncorrected));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Json to_json(const DeviceCondition& condition) {
  Json json = Json::object();
  put_present(json, "clock_hz", condition.sensors.clock_hz);
  put_present(json, "memory_clock_hz", condition.sensors.memory_clock_hz);
  put_present(json, "power_watts", condition.sensors.power_watts);
  put_present(json, "temperature_celsius", condition.sensors.temperature_celsius);
  put_present(json, "throttle_reasons", condition.sensors.throttle_reasons);
  put_present(json, "ecc_corrected", condition.ecc_corrected);
  put_present(json, "ecc_uncorrected", condition.ecc_uncorrected);
  return json;
}

DeviceCondition condition_from(const Json& json) {
  DeviceCondition condition;
  const auto number = [&](const char* key, std::optional<double>& target) {
    if (json.contains(key) && json[key].is_number()) target = json[key].get<double>();
  };
  number("clock_hz", condition.sensors.clock_hz);
  number("memory_clock_hz", condition.sensors.memory_clock_hz);
  number("power_watts", condition.sensors.power_watts);
  number("temperature_celsius", condition.sensors.temperature_celsius);
  number("ecc_corrected", condition.ecc_corrected);
  number("ecc_uncorrected", condition.ecc_uncorrected);
  if (json.contains("throttle_reasons") && json["throttle_reasons"].is_string()) {
    condition.sensors.throttle_reasons = json["throttle_reasons"].get<std::string>();
  }
  return condition;
}

}  // namespace assay::health
