#include "machine/system/gpu_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

namespace assay {
namespace {

using Values = std::span<const std::optional<std::uint64_t>>;

/// Returns the sum of the existing values, in SI units; empty if there are none.
std::optional<double> sum(Values values, double unit) {
  std::optional<double> total;
  for (const auto& value : values) {
    if (value) total = total.value_or(0) + static_cast<double>(*value) * unit;
  }
  return total;
}

/// Returns the clocks above zero; zero stands for an absent XCD.
std::vector<double> clocks(Values values) {
  std::vector<double> hertz;
  for (const auto& value : values) {
    if (value && *value > 0) hertz.push_back(static_cast<double>(*value) * 1e6);
  }
  return hertz;
}

std::vector<double> clocks_by_place(Values values) {
  std::size_t places = values.size();
  while (places > 0 && !values[places - 1]) --places;
  std::vector<double> hertz(places, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < places; ++i) {
    if (values[i] && *values[i] > 0) hertz[i] = static_cast<double>(*values[i]) * 1e6;
  }
  return hertz;
}

void store_clocks(GpuMetrics& metrics, Values values) {
  metrics.engine_clocks_hz = clocks(values);
  metrics.xcd_clocks_hz = clocks_by_place(values);
}

constexpr double joules_per_step = 1.0 / 65536;  // the driver's "15.259 uJ"
constexpr unsigned pcie_speed_id = 17, engine_clock_id = 33;
constexpr unsigned throttle_reasons_id = 0x400;  // not an attribute of 1.9: its ids have ten bits

/// The fields that assay reads, in any version. pcie_bandwidth_acc is left out, because it cannot
/// be converted to bytes: the kernel's comment gave its unit first as Mbps, then as GB/sec, and it
/// is a sum over iterations of the firmware's loop, whose period is not documented.
struct MetricField {
  unsigned id;        // AMDGPU_METRICS_ATTR_ID_... of version 1.9
  std::size_t bytes;  // per value, before 1.9
  std::size_t count;  // number of values, before 1.9
  void (*store)(GpuMetrics& metrics, Values values);
};
// clang-format off
constexpr MetricField fields[] = {
    {0, 2, 1, [](GpuMetrics& m, Values v) { m.temperature_celsius = sum(v, 1); }},
    {1, 2, 1, [](GpuMetrics& m, Values v) { m.memory_temperature_celsius = sum(v, 1); }},
    {3, 2, 1, [](GpuMetrics& m, Values v) { m.power_watts = sum(v, 1); }},
    {4, 2, 1, [](GpuMetrics& m, Values v) { m.engine_activity = sum(v, 0.01); }},
    {5, 2, 1, [](GpuMetrics& m, Values v) { m.memory_activity = sum(v, 0.01); }},
    {7, 8, 1, [](GpuMetrics& m, Values v) { m.energy_joules = sum(v, joules_per_step); }},
    {9, 4, 1, [](GpuMetrics& m, Values v) { m.throttle.cycles = v[0]; }},
    {10, 4, 1, [](GpuMetrics& m, Values v) { m.throttle.prochot = v[0]; }},
    {11, 4, 1, [](GpuMetrics& m, Values v) { m.throttle.power = v[0]; }},
    {12, 4, 1, [](GpuMetrics& m, Values v) { m.throttle.socket_thermal = v[0]; }},
    {13, 4, 1, [](GpuMetrics& m, Values v) { m.throttle.regulator_thermal = v[0]; }},
    {14, 4, 1, [](GpuMetrics& m, Values v) { m.throttle.memory_thermal = v[0]; }},
    {16, 2, 1, [](GpuMetrics& m, Values v) { m.pcie_width = v[0]; }},
    {pcie_speed_id, 2, 1, [](GpuMetrics& m, Values v) { m.pcie_speed_gts = sum(v, 0.1); }},
    {24, 8, 1, [](GpuMetrics& m, Values v) { m.pcie_recoveries = v[0]; }},
    {25, 8, 1, [](GpuMetrics& m, Values v) { m.pcie_replays = v[0]; }},
    {29, 8, 8, [](GpuMetrics& m, Values v) { m.xgmi_read_bytes = sum(v, 1024); }},
    {30, 8, 8, [](GpuMetrics& m, Values v) { m.xgmi_written_bytes = sum(v, 1024); }},
    {engine_clock_id, 2, 8, &store_clocks},
    {37, 2, 1, [](GpuMetrics& m, Values v) { if (v[0] > 0u) m.memory_clock_hz = sum(v, 1e6); }},
    {throttle_reasons_id, 8, 1, [](GpuMetrics& m, Values v) { m.throttle_reasons = v[0]; }},
};

/// The offsets at which one version stores the fields, in bytes; 0: it lacks the field.
struct Layout {
  int content;
  std::array<std::uint16_t, std::size(fields)> offsets;
};
constexpr Layout layouts[] = {
    // hot mem power act mem energy cycles prochot power socket regulator memory width speed recoveries replays read written clock mem reasons
    {3, {6, 8, 22, 16, 18,  0,  0,  0,  0,  0,  0,  0,  74,  76,   0,   0,   0,   0,  54,  58, 112}},
    {4, {4, 6, 10, 12, 14, 24,  0,  0,  0,  0,  0,  0,  48,  50,  80,  88, 104, 168, 240, 280, 0}},
    {5, {4, 6, 10, 12, 14, 88,  0,  0,  0,  0,  0,  0, 112, 114, 144, 152, 176, 240, 312, 352, 0}},
    {6, {4, 6, 10, 12, 14, 16, 32, 36, 40, 44, 48, 52,  60,  62,  96, 104, 128, 192, 264, 304, 0}},
    {7, {4, 6, 10, 12, 14, 24, 40, 44, 48, 52, 56, 60,  68,  70, 104, 112, 136, 200, 296, 336, 0}},
    {8, {4, 6, 10, 12, 14, 24, 40, 44, 48, 52, 56, 60,  68,  70, 104, 112, 136, 200, 296, 336, 0}},
};
// clang-format on

/// Reads a little-endian number; empty if out of range or all ones, which means "not supported".
std::optional<std::uint64_t> number_at(std::string_view bytes, std::size_t offset,
                                       std::size_t width) {
  if (offset > bytes.size() || width > bytes.size() - offset) return std::nullopt;
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, width);
  const std::uint64_t ones = ~std::uint64_t{0} >> (64 - 8 * width);
  if (value == ones) return std::nullopt;
  return value;
}

void take(GpuMetrics& metrics, const MetricField& field, std::string_view bytes, std::size_t offset,
          std::size_t width, std::size_t count) {
  constexpr std::size_t most = 64;  // more XCDs or links than any chip has
  std::array<std::optional<std::uint64_t>, most> values;
  const std::size_t used = std::min(count, most);
  for (std::size_t i = 0; i < used; ++i) values[i] = number_at(bytes, offset + i * width, width);
  field.store(metrics, Values(values).first(used));
}

void read_by_offset(GpuMetrics& metrics, const Layout& layout, std::string_view bytes) {
  for (std::size_t i = 0; i < std::size(fields); ++i) {
    if (layout.offsets[i] == 0) continue;
    const bool one_clock = layout.content == 3 && fields[i].id == engine_clock_id;
    take(metrics, fields[i], bytes, layout.offsets[i], fields[i].bytes,
         one_clock ? 1 : fields[i].count);
  }
}

/// Reads version 1.9: a count, then for each attribute a 64-bit code and its values, packed: unit
/// << 24 | type << 20 | id << 10 | number of values. Returns what is wrong, or "".
std::string read_attributes(GpuMetrics& metrics, std::string_view bytes) {
  constexpr std::size_t width_of_type[] = {1, 1, 2, 2, 4, 4, 8, 8};
  constexpr unsigned tenths_of_gts = 7;  // AMDGPU_METRICS_UNIT_SPEED_2
  constexpr std::size_t header = 8, code_bytes = 8;
  const std::optional<std::uint64_t> attributes = number_at(bytes, 4, 4);
  std::size_t offset = header;
  for (std::uint64_t i = 0; i < attributes.value_or(0); ++i) {
    const std::optional<std::uint64_t> code = number_at(bytes, offset, code_bytes);
    const std::size_t type = code ? *code >> 20 & 0xf : std::size(width_of_type);
    const std::size_t count = code ? *code & 0x3ff : 0;
    if (type >= std::size(width_of_type) || count == 0 ||
        count * width_of_type[type] > bytes.size() - offset - code_bytes) {
      return fmt::format("gpu_metrics 1.9 is invalid at byte {} of {}", offset, bytes.size());
    }
    offset += code_bytes;
    const unsigned id = *code >> 10 & 0x3ff, unit = *code >> 24 & 0xff;
    for (const MetricField& field : fields) {
      if (field.id != id || (id == pcie_speed_id && unit != tenths_of_gts)) continue;
      take(metrics, field, bytes, offset, width_of_type[type], count);
    }
    offset += count * width_of_type[type];
  }
  return {};
}

}  // namespace

GpuMetrics parse_gpu_metrics(std::string_view bytes) {
  GpuMetrics metrics;
  const int format = bytes.size() < 4 ? 0 : static_cast<unsigned char>(bytes[2]);
  const int content = bytes.size() < 4 ? 0 : static_cast<unsigned char>(bytes[3]);
  const std::size_t size = number_at(bytes, 0, 2).value_or(0xffff);
  const Layout* const layout =
      std::find_if(std::begin(layouts), std::end(layouts),
                   [&](const Layout& candidate) { return candidate.content == content; });
  std::string problem;
  if (size > bytes.size()) {
    problem = fmt::format("gpu_metrics is cut short: {} of {} bytes", bytes.size(), size);
  } else if (format == 1 && layout != std::end(layouts)) {
    read_by_offset(metrics, *layout, bytes.substr(0, size));
  } else if (format == 1 && content == 9) {
    problem = read_attributes(metrics, bytes.substr(0, size));
  } else {
    problem =
        fmt::format("gpu_metrics {}.{} is not a version assay reads (1.3 to 1.9)", format, content);
  }
  if (!problem.empty()) metrics = {};
  metrics.problem = std::move(problem);
  metrics.format = format;
  metrics.content = content;
  return metrics;
}

}  // namespace assay
