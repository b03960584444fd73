// AMD accelerators, from the amdgpu driver's files. One reading of gpu_metrics gives nearly
// everything with one query to the firmware; hwmon provides what a version lacks. A partition is
// read through the device to which it belongs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "machine/system/amdgpu_sysfs.h"
#include "machine/system/gpu_metrics.h"
#include "machine/system/kfd.h"
#include "machine/telemetry/kept_file.h"
#include "machine/telemetry/source.h"

namespace assay::amdgpu_source {
namespace {

namespace fs = std::filesystem;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double number(const std::optional<double>& value) {
  return value.value_or(nan);
}
double number(const std::optional<std::uint64_t>& value) {
  return value ? static_cast<double>(*value) : nan;
}

/// Returns 1 while anything limits the clock; NaN if the table does not report it.
double throttled(const GpuMetrics& metrics) {
  if (!metrics.throttle_reasons) return nan;
  return *metrics.throttle_reasons != 0 ? 1 : 0;
}

struct MetricsChannel {
  const char* quantity;
  const char* unit;
  ChannelKind kind;
  double (*value)(const GpuMetrics& metrics);
};
constexpr ChannelKind gauge = ChannelKind::gauge, counter = ChannelKind::counter;
// clang-format off
constexpr MetricsChannel metrics_channels[] = {
    {"memory_clock", "Hz", gauge, [](const GpuMetrics& m) { return number(m.memory_clock_hz); }},
    {"power", "W", gauge, [](const GpuMetrics& m) { return number(m.power_watts); }},
    {"energy", "J", counter, [](const GpuMetrics& m) { return number(m.energy_joules); }},
    {"temperature", "degC", gauge, [](const GpuMetrics& m) { return number(m.temperature_celsius); }},
    {"memory_temperature", "degC", gauge, [](const GpuMetrics& m) { return number(m.memory_temperature_celsius); }},
    {"utilisation", "1", gauge, [](const GpuMetrics& m) { return number(m.engine_activity); }},
    {"memory_utilisation", "1", gauge, [](const GpuMetrics& m) { return number(m.memory_activity); }},
    {"throttled", "1", gauge, &throttled},
    {"throttle.cycles", "1", counter, [](const GpuMetrics& m) { return number(m.throttle.cycles); }},
    {"throttle.prochot", "1", counter, [](const GpuMetrics& m) { return number(m.throttle.prochot); }},
    {"throttle.power", "1", counter, [](const GpuMetrics& m) { return number(m.throttle.power); }},
    {"throttle.socket_thermal", "1", counter, [](const GpuMetrics& m) { return number(m.throttle.socket_thermal); }},
    {"throttle.regulator_thermal", "1", counter, [](const GpuMetrics& m) { return number(m.throttle.regulator_thermal); }},
    {"throttle.memory_thermal", "1", counter, [](const GpuMetrics& m) { return number(m.throttle.memory_thermal); }},
    {"pcie_speed", "GT/s", gauge, [](const GpuMetrics& m) { return number(m.pcie_speed_gts); }},
    {"pcie_width", "1", gauge, [](const GpuMetrics& m) { return number(m.pcie_width); }},
    {"pcie_replays", "1", counter, [](const GpuMetrics& m) { return number(m.pcie_replays); }},
    {"pcie_recoveries", "1", counter, [](const GpuMetrics& m) { return number(m.pcie_recoveries); }},
    {"xgmi_read", "bytes", counter, [](const GpuMetrics& m) { return number(m.xgmi_read_bytes); }},
    {"xgmi_written", "bytes", counter, [](const GpuMetrics& m) { return number(m.xgmi_written_bytes); }},
};
// clang-format on

/// Files with one number, or with lines like "ue: 0\nce: 3\nde: 0".
struct FileChannel {
  const char* quantity;
  const char* unit;
  ChannelKind kind;
  const char* file;
  const char* key;  ///< line to look for; null: the file is one number
  double scale;
  const char* other_key = nullptr;  ///< the number on this line is added, if there is one
};
/// The first readable file of each quantity is used. A driver that reads errors through ACA, as
/// newer ones do on MI300X, has the second file with error counts. Deferred errors, "de", are
/// uncorrectable ones in data that no program has read yet.
constexpr FileChannel slow_files[] = {
    {"memory_used", "bytes", gauge, "mem_info_vram_used", nullptr, 1},
    {"ecc_corrected", "1", counter, "ras/umc_err_count", "ce", 1},
    {"ecc_corrected", "1", counter, "ras/aca_umc", "ce", 1},
    {"ecc_uncorrected", "1", counter, "ras/umc_err_count", "ue", 1, "de"},
    {"ecc_uncorrected", "1", counter, "ras/aca_umc", "ue", 1, "de"},
};
/// Files for quantities that gpu_metrics does not report; the first readable file of each quantity
/// is used.
constexpr FileChannel hwmon_files[] = {
    {"clock", "Hz", gauge, "freq1_input", nullptr, 1},
    {"memory_clock", "Hz", gauge, "freq2_input", nullptr, 1},
    {"power", "W", gauge, "power1_input", nullptr, 1e-6},
    {"power", "W", gauge, "power1_average", nullptr, 1e-6},
    {"temperature", "degC", gauge, "temp2_input", nullptr, 1e-3},
    {"temperature", "degC", gauge, "temp1_input", nullptr, 1e-3},
    {"memory_temperature", "degC", gauge, "temp3_input", nullptr, 1e-3},
};

class AmdGpu {
 public:
  AmdGpu(const TelemetryRequest& request, const std::string& pci, int index)
      : folder_(fs::path("sys/bus/pci/devices") / pci),
        root_(request.root),
        metrics_(root_ / folder_ / "gpu_metrics"),
        device_(fmt::format("gpu{}", index)),
        pci_(pci) {
    add_metrics();
    add_hwmon();
    for (const FileChannel& file : slow_files) {
      if (!has(file.quantity)) add_file(file, root_ / folder_, true);
    }
  }

  const std::vector<Channel>& channels() const { return channels_; }

  void read(std::span<double> values, bool all) {
    const GpuMetrics metrics = parse_gpu_metrics(metrics_.read_start());
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      if (all || !readers_[i].slow) values[i] = readers_[i].read(metrics);
    }
  }

 private:
  struct Reader {
    bool slow;
    std::function<double(const GpuMetrics&)> read;
  };

  void add(const std::string& quantity, const char* unit, ChannelKind kind, Reader reader) {
    channels_.push_back({device_, quantity, unit, kind, pci_});
    readers_.push_back(std::move(reader));
  }

  bool has(std::string_view quantity) const {
    return std::any_of(channels_.begin(), channels_.end(), [&](const Channel& channel) {
      return channel.quantity == quantity ||
             channel.quantity.rfind(fmt::format("{}.", quantity), 0) == 0;
    });
  }

  /// Returns the number of XCDs that get a channel. A sleeping XCD has no clock in the table, so
  /// the compute driver is asked. It hides partitions that this process may not use, so XCDs with a
  /// clock count as well.
  std::size_t count_dies(const GpuMetrics& now) const {
    const std::vector<double>& clocks = now.xcd_clocks_hz;
    std::size_t known = 0, awake = clocks.size();
    while (awake > 0 && std::isnan(clocks[awake - 1])) --awake;
    for (const KfdNode& node : read_kfd_nodes(FolderMachine(root_))) {
      if (node.pci == pci_) known += static_cast<std::size_t>(std::max(node.dies, 0));
    }
    if (known == 0) known = clocks.size();
    const std::size_t dies = clocks.empty() ? 0 : std::max(known, awake);
    return dies == 1 && awake == 0 ? 0 : dies;  // hwmon may have the only clock
  }

  /// Adds a channel for each value in this chip's table now; the set is fixed while the driver is
  /// loaded.
  void add_metrics() {
    const GpuMetrics now = parse_gpu_metrics(metrics_.read_start());
    const std::size_t dies = count_dies(now);
    for (std::size_t die = 0; die < dies; ++die) {
      add(dies == 1 ? "clock" : fmt::format("clock.xcd{}", die), "Hz", gauge,
          {false, [die](const GpuMetrics& m) {
             return die < m.xcd_clocks_hz.size() ? m.xcd_clocks_hz[die] : nan;
           }});
    }
    for (const MetricsChannel& channel : metrics_channels) {
      if (std::isnan(channel.value(now))) continue;
      add(channel.quantity, channel.unit, channel.kind, {false, channel.value});
    }
  }

  void add_hwmon() {
    const fs::path hwmon = amdgpu_hwmon(FolderMachine(root_), folder_);
    if (hwmon.empty()) return;
    for (const FileChannel& file : hwmon_files) {
      if (!has(file.quantity)) add_file(file, root_ / hwmon, false);
    }
  }

  void add_file(const FileChannel& channel, const fs::path& folder, bool slow) {
    const auto file = std::make_shared<KeptFile>(folder / channel.file);
    const auto read = [file, channel](const GpuMetrics&) {
      if (channel.key == nullptr) return file->read_number(channel.scale);
      const std::string_view text = file->read_start();
      double value = number_after(text, channel.key);
      if (channel.other_key != nullptr) {
        const double other = number_after(text, channel.other_key);
        if (!std::isnan(other)) value += other;
      }
      return value * channel.scale;
    };
    if (std::isnan(read({}))) return;
    add(channel.quantity, channel.unit, channel.kind, {slow, read});
  }

  const fs::path folder_, root_;
  KeptFile metrics_;
  const std::string device_, pci_;
  std::vector<Channel> channels_;
  std::vector<Reader> readers_;
};

class AmdSource final : public TelemetrySource {
 public:
  explicit AmdSource(const TelemetryRequest& request) {
    int index = request.first_gpu;
    for (const std::string& pci : FolderMachine(request.root).list("sys/bus/pci/drivers/amdgpu")) {
      if (pci.find(':') == std::string::npos) continue;  // "bind", "module"
      if (!request.hardware.empty() && !same_socket(pci, request.hardware)) continue;
      AmdGpu gpu(request, pci, index);
      if (gpu.channels().empty()) continue;
      channels_.insert(channels_.end(), gpu.channels().begin(), gpu.channels().end());
      gpus_.push_back(std::move(gpu));
      ++index;
    }
  }

  const std::vector<Channel>& channels() const override { return channels_; }
  void read(std::span<double> values, bool all) override {
    for (AmdGpu& gpu : gpus_) {
      gpu.read(values.first(gpu.channels().size()), all);
      values = values.subspan(gpu.channels().size());
    }
  }

 private:
  /// HIP numbers the partitions of a socket in the function digit.
  static bool same_socket(std::string_view one, std::string_view other) {
    return one.substr(0, one.rfind('.')) == other.substr(0, other.rfind('.'));
  }

  std::vector<Channel> channels_;
  std::vector<AmdGpu> gpus_;
};

const TelemetrySourceRegistry::Add registered{
    {"amdgpu", [](const TelemetryRequest& request) -> std::unique_ptr<TelemetrySource> {
       if (!wants_pci_devices(request)) return nullptr;
       auto source = std::make_unique<AmdSource>(request);
       if (source->channels().empty()) return nullptr;
       return source;
     }}};

}  // namespace
}  // namespace assay::amdgpu_source
