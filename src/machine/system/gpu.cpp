#include "machine/system/gpu.h"

#include <fmt/format.h>

#include "core/json.h"
#include "machine/system/amd_gpus.h"

namespace assay {
namespace {

/// Visits every field with its JSON name, for both writing and reading.
template <typename Visitor, typename Link>
void visit_link(const Visitor& field, Link& link) {
  field("type", link.type);
  field("peer", link.peer);
  field("up", link.up);
  field("bytes_per_second", link.bytes_per_second);
}

template <typename Visitor, typename State>
void visit_state(const Visitor& field, State& state) {
  field("engine_clocks_hz", state.engine_clocks_hz);
  field("power_watts", state.power_watts);
  field("temperature_celsius", state.temperature_celsius);
  field("throttle_reasons", state.throttle_reasons);
  field("correctable_errors", state.correctable_errors);
  field("uncorrectable_errors", state.uncorrectable_errors);
  field("retired_pages", state.retired_pages);
  field("pcie_replays", state.pcie_replays);
  field("utilisation_percent", state.utilisation_percent);
}

template <typename Visitor, typename AnyGpu>
void visit_gpu(const Visitor& field, AnyGpu& gpu) {
  field("name", gpu.name);
  field("arch", gpu.arch);
  field("pci", gpu.pci);
  field("device_id", gpu.device_id);
  field("uuid", gpu.uuid);
  field("serial", gpu.serial);
  field("vbios", gpu.vbios);
  field("driver", gpu.driver);
  field("firmware", gpu.firmware);
  field("compute_units", gpu.compute_units);
  field("dies", gpu.dies);
  field("memory_bytes", gpu.memory_bytes);
  field("visible_memory_bytes", gpu.visible_memory_bytes);
  field("compute_partition", gpu.compute_partition);
  field("memory_partition", gpu.memory_partition);
  field("compute_partitions", gpu.compute_partitions);
  field("memory_partitions", gpu.memory_partitions);
  field("ecc", gpu.ecc);
  field("power_cap_watts", gpu.power_cap_watts);
  field("power_cap_default_watts", gpu.power_cap_default_watts);
  field("power_cap_max_watts", gpu.power_cap_max_watts);
  field("clock_max_hz", gpu.clock_max_hz);
  field("performance_level", gpu.performance_level);
  field("pcie_speed_max_gts", gpu.pcie.speed_max_gts);
  field("pcie_width", gpu.pcie.width);
  field("pcie_width_max", gpu.pcie.width_max);
  field("numa_node", gpu.numa_node);
  field("local_cpus", gpu.local_cpus);
  field("virtual_function", gpu.virtual_function);
  field("device_files", gpu.device_files);
  field("links", gpu.links);
}

/// Writes fields into a JSON object; empty facts are left out.
class FieldWriter {
 public:
  explicit FieldWriter(Json& json) : json_(json) {}

  template <typename T>
  void operator()(const char* key, const std::optional<T>& value) const {
    if (value) json_[key] = *value;
  }
  template <typename T>
  requires requires(const T& container) { container.empty(); }
  void operator()(const char* key, const T& value) const {
    if (!value.empty()) json_[key] = to_value(value);
  }
  void operator()(const char* key, const bool& value) const {
    if (value) json_[key] = true;
  }

 private:
  template <typename T>
  static Json to_value(const T& value) {
    return value;
  }
  static Json to_value(const std::vector<PeerLink>& links) {
    Json list = Json::array();
    for (PeerLink link : links) {
      Json json = {{"up", link.up}};
      visit_link(FieldWriter(json), link);
      list.push_back(std::move(json));
    }
    return list;
  }

  Json& json_;
};

/// Reads the fields back; leaves a field unchanged if the JSON has the wrong type.
class FieldReader {
 public:
  explicit FieldReader(const Json& json) : json_(json) {}

  template <typename T>
  void operator()(const char* key, T& target) const {
    const auto value = json_.find(key);
    if (value != json_.end()) take(*value, target);
  }

 private:
  // Each function returns whether the JSON had the right type.
  static bool take(const Json& json, std::string& target) {
    if (json.is_string()) target = json.get<std::string>();
    return json.is_string();
  }
  static bool take(const Json& json, bool& target) {
    if (json.is_boolean()) target = json.get<bool>();
    return json.is_boolean();
  }
  template <typename T>
  requires std::is_arithmetic_v<T>
  static bool take(const Json& json, T& target) {
    // A number such as 1e300 does not fit into an integer.
    const bool fits = std::is_integral_v<T> ? json.is_number_integer() : json.is_number();
    if (fits) target = json.get<T>();
    return fits;
  }
  static bool take(const Json& json, PeerLink& target) {
    if (json.is_object()) visit_link(FieldReader(json), target);
    return json.is_object();
  }
  template <typename T>
  static bool take(const Json& json, std::optional<T>& target) {
    T value{};
    const bool taken = take(json, value);
    if (taken) target = value;
    return taken;
  }
  template <typename T>
  static bool take(const Json& json, std::vector<T>& target) {
    if (!json.is_array()) return false;
    for (const Json& element : json) {
      T value{};
      if (take(element, value)) target.push_back(std::move(value));
    }
    return true;
  }
  static bool take(const Json& json, std::map<std::string, std::string>& target) {
    if (!json.is_object()) return false;
    for (const auto& [key, value] : json.items()) {
      if (value.is_string()) target[key] = value.get<std::string>();
    }
    return true;
  }

  const Json& json_;
};

}  // namespace

std::vector<Gpu> read_gpus(const Machine& machine) {
  std::vector<Gpu> gpus = read_amd_gpus(machine);
  const Json nvidia = machine.ask("nvidia");
  if (!nvidia.is_object() || !nvidia.contains("gpus")) return gpus;
  for (const Json& json : nvidia["gpus"]) {
    if (json.is_object()) gpus.push_back(gpu_from_json(json));
  }
  return gpus;
}

std::string label(const Gpu& gpu) {
  return gpu.pci.empty() ? fmt::format("GPU {}", gpu.index)
                         : fmt::format("GPU {} ({})", gpu.index, gpu.pci);
}

Json to_json(const Gpu& gpu, bool with_state) {
  Json json = {{"vendor", gpu.vendor}, {"index", gpu.index}};
  const FieldWriter field(json);
  visit_gpu(field, gpu);
  if (gpu.visible == false) json["visible"] = false;
  if (with_state) {
    field("pcie_speed_gts", gpu.pcie.speed_gts);
    Json state = Json::object();
    visit_state(FieldWriter(state), gpu.state);
    json["state"] = std::move(state);
  }
  return json;
}

Gpu gpu_from_json(const Json& json) {
  Gpu gpu;
  if (!json.is_object()) return gpu;
  const FieldReader field(json);
  field("vendor", gpu.vendor);
  field("index", gpu.index);
  visit_gpu(field, gpu);
  field("visible", gpu.visible);
  field("pcie_speed_gts", gpu.pcie.speed_gts);
  if (const auto state = json.find("state"); state != json.end() && state->is_object()) {
    visit_state(FieldReader(*state), gpu.state);
  }
  return gpu;
}

}  // namespace assay
