#include "results/store/telemetry_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/json.h"

namespace assay {
namespace {

template <typename Owner>
using Field = std::pair<const char*, std::optional<double> Owner::*>;

constexpr Field<GpuTelemetry> gpu_fields[] = {
    {"clock_mean_hz", &GpuTelemetry::clock_mean_hz},
    {"clock_min_hz", &GpuTelemetry::clock_min_hz},
    {"xcd_spread", &GpuTelemetry::xcd_spread},
    {"power_mean_watts", &GpuTelemetry::power_mean_watts},
    {"power_max_watts", &GpuTelemetry::power_max_watts},
    {"temperature_max_celsius", &GpuTelemetry::temperature_max_celsius},
    {"throttled_share", &GpuTelemetry::throttled_share},
    {"energy_joules", &GpuTelemetry::energy_joules},
};
constexpr Field<HostTelemetry> host_fields[] = {
    {"clock_mean_hz", &HostTelemetry::clock_mean_hz},
    {"energy_joules", &HostTelemetry::energy_joules},
    {"steal_share", &HostTelemetry::steal_share},
    {"others_share", &HostTelemetry::others_share},
    {"cgroup_throttled_seconds", &HostTelemetry::cgroup_throttled_seconds},
};
constexpr Field<TelemetrySummary> summary_fields[] = {
    {"joules_per_byte", &TelemetrySummary::joules_per_byte},
    {"joules_per_flop", &TelemetrySummary::joules_per_flop},
    {"busy_share", &TelemetrySummary::busy_share},
};

template <typename Owner, std::size_t count>
Json fields_to_json(const Owner& owner, const Field<Owner> (&fields)[count]) {
  Json json = Json::object();
  for (const auto& [key, member] : fields) {
    if (owner.*member) json[key] = *(owner.*member);
  }
  return json;
}

template <typename Owner, std::size_t count>
Status read_fields(const JsonReader& json, Owner& owner, const Field<Owner> (&fields)[count]) {
  for (const auto& [key, member] : fields) TRY(json.optional(key, owner.*member));
  return {};
}

Json to_json(const TelemetrySummary& summary) {
  Json json = fields_to_json(summary, summary_fields);
  json["gpus"] = Json::object();
  for (const auto& [device, gpu] : summary.gpus) {
    Json object = fields_to_json(gpu, gpu_fields);
    if (!gpu.energy_source.empty()) object["energy_source"] = gpu.energy_source;
    json["gpus"][device] = std::move(object);
  }
  json["host"] = fields_to_json(summary.host, host_fields);
  return json;
}

/// Returns a number, or null for NaN.
Json number_or_null(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

Json channels_to_json(const TelemetryTrace& trace) {
  Json json = Json::object();
  for (std::size_t i = 0; i < trace.channels.size(); ++i) {
    const Channel& channel = trace.channels[i];
    const std::vector<double>& column = trace.values[i];
    const bool known =
        !std::all_of(column.begin(), column.end(), [](double value) { return std::isnan(value); });
    if (!known) continue;
    Json object = {{"unit", channel.unit},
                   {"kind", channel.kind == ChannelKind::gauge ? "gauge" : "counter"}};
    if (!channel.hardware.empty()) object["hardware"] = channel.hardware;
    Json values = Json::array();
    for (const double value : column) values.push_back(number_or_null(value));
    object["values"] = std::move(values);
    json[channel.name()] = std::move(object);
  }
  return json;
}

Result<std::vector<double>> read_numbers(const JsonReader& json, const char* key) {
  const Json* array = json.find(key);
  if (array == nullptr || !array->is_array()) return json.wrong(key, "must be an array");
  std::vector<double> numbers;
  for (const Json& element : *array) {
    if (!element.is_number() && !element.is_null()) {
      return json.wrong(key, "must contain only numbers and null");
    }
    numbers.push_back(element.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                        : element.get<double>());
  }
  return numbers;
}

Status read_channel(const JsonReader& channels, const std::string& name, TelemetryTrace& trace) {
  const JsonReader json = TRY(channels.object(name.c_str()));
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return channels.wrong(name, "must be named device.quantity");
  Channel channel{name.substr(0, dot), name.substr(dot + 1), TRY(json.text("unit")),
                  ChannelKind::gauge, ""};
  const std::string kind = TRY(json.text("kind"));
  if (kind != "gauge" && kind != "counter") return json.wrong("kind", "must be gauge or counter");
  if (kind == "counter") channel.kind = ChannelKind::counter;
  TRY(json.optional("hardware", channel.hardware));
  std::vector<double> values = TRY(read_numbers(json, "values"));
  if (values.size() != trace.seconds.size()) {
    return json.wrong("values", "must have the same length as telemetry.seconds");
  }
  trace.channels.push_back(std::move(channel));
  trace.values.push_back(std::move(values));
  return {};
}

Result<TelemetrySummary> read_telemetry_summary(const JsonReader& json) {
  TelemetrySummary summary;
  TRY(read_fields(json, summary, summary_fields));
  const JsonReader gpus = TRY(json.object("gpus"));
  for (const auto& [device, ignored] : json.find("gpus")->items()) {
    const JsonReader object = TRY(gpus.object(device.c_str()));
    GpuTelemetry gpu;
    TRY(read_fields(object, gpu, gpu_fields));
    TRY(object.optional("energy_source", gpu.energy_source));
    summary.gpus.emplace_back(device, std::move(gpu));
  }
  const JsonReader host = TRY(json.object("host"));
  TRY(read_fields(host, summary.host, host_fields));
  return summary;
}

}  // namespace

Json to_json(const Telemetry& telemetry) {
  const TelemetryTrace& trace = telemetry.trace;
  Json json = {{"interval", trace.interval}, {"window", trace.window}};
  json["summary"] = to_json(telemetry.summary);
  json["cost"] = {{"ticks", trace.cost.ticks},
                  {"missed", trace.cost.missed},
                  {"cpu_seconds", trace.cost.cpu_seconds},
                  {"longest_read_seconds", trace.cost.longest_read_seconds}};
  json["seconds"] = trace.seconds;
  json["channels"] = channels_to_json(trace);
  return json;
}

Result<Telemetry> telemetry_from_json(const JsonReader& json) {
  Telemetry telemetry;
  TelemetryTrace& trace = telemetry.trace;
  trace.interval = TRY(json.number("interval"));
  trace.window = TRY(json.number("window"));
  // A store that is kept as evidence may have lost its readings, which are most of its text.
  const bool has_readings = json.has("seconds") || json.has("channels");
  if (has_readings) trace.seconds = TRY(read_numbers(json, "seconds"));
  const JsonReader cost = TRY(json.object("cost"));
  trace.cost.ticks = TRY(cost.count("ticks"));
  trace.cost.missed = TRY(cost.count("missed"));
  trace.cost.cpu_seconds = TRY(cost.number("cpu_seconds"));
  trace.cost.longest_read_seconds = TRY(cost.number("longest_read_seconds"));
  if (has_readings) {
    const JsonReader channels = TRY(json.object("channels"));
    for (const auto& [name, ignored] : json.find("channels")->items()) {
      TRY(read_channel(channels, name, trace));
    }
  }
  const JsonReader summary = TRY(json.object("summary"));
  telemetry.summary = TRY(read_telemetry_summary(summary));
  return telemetry;
}

}  // namespace assay
