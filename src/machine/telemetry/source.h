// A source of telemetry is one file that reads one part of the machine repeatedly and cheaply, as
// numbers on named channels. It registers itself with
//   const TelemetrySourceRegistry::Add registered{{"rapl", &open_rapl}};
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"

namespace assay {

/// A gauge holds its current value; for a counter only the difference of two readings is
/// meaningful.
enum class ChannelKind { gauge, counter };

/// A number that a source reads.
struct Channel {
  std::string device;    ///< "gpu0", "cpu", "cgroup"
  std::string quantity;  ///< "power", "clock.xcd3"; with the device it is unique
  std::string unit;      ///< "W", "Hz", "J", "degC", "bytes", "s", "bits", "GT/s", "1"
  ChannelKind kind = ChannelKind::gauge;
  std::string hardware;  ///< PCI address of the accelerator, or "fake:0"; empty: the host

  std::string name() const { return device + "." + quantity; }
};

struct TelemetryRequest {
  /// Another root is a copy of another machine's files; sources that read no files ignore it.
  std::filesystem::path root = "/";
  /// Restricts the request to this accelerator: its PCI address, or "cpu:0" for a device that has
  /// none. Empty: all.
  std::string hardware = {};
  std::vector<int> cpus = {};  ///< CPUs that this process uses
  int first_gpu = 0;           ///< number of the first accelerator the source finds
};

/// A derived class reads one part of the machine.
class TelemetrySource {
 public:
  virtual ~TelemetrySource() = default;
  /// Returns the channels, which never change during the lifetime of the source.
  virtual const std::vector<Channel>& channels() const = 0;
  /// Sets values[i] for channels()[i], to NaN if unreadable. Unless `all`, the values of slow
  /// channels are not touched. Always called from one thread.
  virtual void read(std::span<double> values, bool all) = 0;
};

struct TelemetrySourceFactory {
  std::string_view name;
  /// Returns null if there is nothing to read.
  std::unique_ptr<TelemetrySource> (*open)(const TelemetryRequest& request);
};
using TelemetrySourceRegistry = Registry<TelemetrySourceFactory>;

using TelemetrySources = std::vector<std::unique_ptr<TelemetrySource>>;
/// Returns every source that finds something to read here; accelerators are numbered across
/// sources.
TelemetrySources open_telemetry_sources(TelemetryRequest request);
/// Returns the channels of all sources, in order.
std::vector<Channel> channels_of(const TelemetrySources& sources);
/// Returns a value for each of those channels, NaN for those that were not read; see
/// TelemetrySource::read.
std::vector<double> read_sources(const TelemetrySources& sources, bool all);
/// Returns whether the request can match an accelerator on the PCI bus.
bool wants_pci_devices(const TelemetryRequest& request);

}  // namespace assay
