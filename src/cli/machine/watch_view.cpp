#include "cli/machine/watch_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/table.h"
#include "core/json.h"
#include "core/units.h"

namespace assay::cli {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The channels of one device in one or two snapshots.
class DeviceReader {
 public:
  DeviceReader(const std::vector<Channel>& channels, const Snapshot& now, const Snapshot* before,
               std::string device)
      : channels_(channels), now_(now), before_(before), device_(std::move(device)) {}

  double value(std::string_view quantity) const { return at(now_, quantity); }

  /// The rate of a counter, per second.
  double rate(std::string_view quantity) const {
    if (before_ == nullptr || now_.second <= before_->second) return nan;
    return (at(now_, quantity) - at(*before_, quantity)) / (now_.second - before_->second);
  }
  /// The increase of one counter per increase of another.
  double share(std::string_view quantity, std::string_view of) const {
    const double whole = rate(of);
    return whole > 0 ? rate(quantity) / whole : nan;
  }

  /// Every value of "clock" or "clock.xcd0" and so on.
  std::vector<double> clocks() const {
    std::vector<double> found;
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      const Channel& channel = channels_[i];
      const bool clock = channel.quantity == "clock" || channel.quantity.rfind("clock.xcd", 0) == 0;
      if (channel.device == device_ && clock && !std::isnan(now_.values[i])) {
        found.push_back(now_.values[i]);
      }
    }
    return found;
  }

 private:
  double at(const Snapshot& snapshot, std::string_view quantity) const {
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      if (channels_[i].device == device_ && channels_[i].quantity == quantity) {
        return snapshot.values[i];
      }
    }
    return nan;
  }

  const std::vector<Channel>& channels_;
  const Snapshot& now_;
  const Snapshot* before_;
  const std::string device_;
};

std::string shown(double value, fmt::format_string<double&> format) {
  return std::isnan(value) ? "" : fmt::format(format, value);
}
std::string percent(double share) {
  return shown(share * 100, "{:.0f}%");
}

/// "1.980 GHz", or "1.987-2.100 GHz" over the XCDs.
std::string clock_text(const std::vector<double>& clocks) {
  if (clocks.empty()) return "";
  const auto [low, high] = std::minmax_element(clocks.begin(), clocks.end());
  if (*low == *high) return format_frequency(*low);
  return fmt::format("{:.3f}-{:.3f} GHz", *low / 1e9, *high / 1e9);
}

/// NVIDIA's driver reports the current state; AMD's firmware has counters, of which the largest is
/// shown.
std::string throttle_text(const DeviceReader& gpu, const Style& style) {
  double share = gpu.value("throttled");
  for (const char* reason : {"throttle.prochot", "throttle.power", "throttle.socket_thermal",
                             "throttle.regulator_thermal", "throttle.memory_thermal"}) {
    const double counted = gpu.share(reason, "throttle.cycles");
    if (!std::isnan(counted)) share = std::isnan(share) ? counted : std::max(share, counted);
  }
  return share > 0 ? style.yellow(percent(std::ceil(share * 100) / 100)) : percent(share);
}

/// Bytes/s of the links to other accelerators, both directions.
double link_rate(const DeviceReader& gpu) {
  double sum = nan;
  for (const char* counter : {"nvlink_sent", "nvlink_received", "xgmi_read", "xgmi_written"}) {
    const double rate = gpu.rate(counter);
    if (!std::isnan(rate)) sum = std::isnan(sum) ? rate : sum + rate;
  }
  return sum;
}

std::string pcie_text(const DeviceReader& gpu) {
  const double speed = gpu.value("pcie_speed"), width = gpu.value("pcie_width");
  return std::isnan(speed) || std::isnan(width) ? ""
                                                : fmt::format("{:g} GT/s x{:.0f}", speed, width);
}

std::string host_text(const DeviceReader& cpu, const DeviceReader& cgroup) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const std::string& value) {
    if (!value.empty()) parts.push_back(fmt::format("{} {}", what, value));
  };
  const double clock = cpu.value("clock_mean");
  if (!std::isnan(clock)) parts.push_back(format_frequency(clock));
  add("busy", percent(cpu.share("busy", "total")));
  add("stolen", percent(cpu.share("steal", "total")));
  add("throttled by the cgroup", percent(cgroup.rate("throttled")));
  for (int package = 0; !std::isnan(cpu.value(fmt::format("package-{}.energy", package)));
       ++package) {
    add(fmt::format("package {}", package).c_str(),
        shown(cpu.rate(fmt::format("package-{}.energy", package)), "{:.0f} W"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string watch_text(const std::vector<Channel>& channels, const Snapshot& now,
                       const Snapshot* before, std::size_t width, const Style& style) {
  Table table({{"", Column::Align::left, 0},
               {"clock", Column::Align::right, 0},
               {"power", Column::Align::right, 0},
               {"temp", Column::Align::right, 5},
               {"busy", Column::Align::right, 6},
               {"capped", Column::Align::right, 7},
               {"memory", Column::Align::right, 4},
               {"links", Column::Align::right, 3},
               {"PCIe", Column::Align::right, 2},
               {"address", Column::Align::left, 1}});
  std::string last;
  for (const Channel& channel : channels) {
    if (channel.hardware.empty() || channel.device == last) continue;
    last = channel.device;
    const DeviceReader gpu(channels, now, before, channel.device);
    const double used = gpu.value("memory_used");
    table.add({channel.device, clock_text(gpu.clocks()), shown(gpu.value("power"), "{:.0f} W"),
               shown(gpu.value("temperature"), "{:.0f} C"), percent(gpu.value("utilisation")),
               throttle_text(gpu, style),
               std::isnan(used) ? "" : format_memory(static_cast<std::uint64_t>(used)),
               shown(link_rate(gpu) / 1e9, "{:.1f} GB/s"), pcie_text(gpu), channel.hardware});
  }
  std::string text = style.dim(now.time) + "\n";
  if (!table.empty()) text += table.render(width, style);
  const std::string host = host_text(DeviceReader(channels, now, before, "cpu"),
                                     DeviceReader(channels, now, before, "cgroup"));
  return text + "  cpu  " + wrapped(host, 7, width) + "\n";
}

Json watch_json(const std::vector<Channel>& channels, const Snapshot& now) {
  Json json = {{"time", now.time}, {"channels", Json::object()}};
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (std::isnan(now.values[i])) continue;
    Json channel = {{"unit", channels[i].unit},
                    {"kind", channels[i].kind == ChannelKind::gauge ? "gauge" : "counter"}};
    if (!channels[i].hardware.empty()) channel["hardware"] = channels[i].hardware;
    channel["value"] = now.values[i];
    json["channels"][channels[i].name()] = std::move(channel);
  }
  return json;
}

}  // namespace assay::cli
