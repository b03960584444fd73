// Where telemetry comes from: a source is one file that reads one place of the machine again and
// again, cheaply, as numbers on named channels. It adds itself with
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

/// A gauge is what it is at the moment; of a counter only the difference of two readings counts.
enum class ChannelKind { gauge, counter };

struct Channel {
  std::string device;    ///< "gpu0", "cpu", "cgroup"
  std::string quantity;  ///< "power", "clock.xcd3"; with the device it is unique
  std::string unit;      ///< "W", "Hz", "J", "degC", "bytes", "s", "bits", "GT/s", "1"
  ChannelKind kind = ChannelKind::gauge;
  std::string hardware;  ///< PCI address of the accelerator; empty: the host

  std::string name() const { return device + "." + quantity; }
};

struct TelemetryRequest {
  /// Or a copy of another machine's files, of which sources that read none know nothing.
  std::filesystem::path root = "/";
  /// Only this accelerator: its PCI address, or "cpu:0" for a device without one. Empty: all.
  std::string hardware = {};
  std::vector<int> cpus = {};  ///< those this process uses
  int first_gpu = 0;           ///< number of the first accelerator the source finds
};

class TelemetrySource {
 public:
  virtual ~TelemetrySource() = default;
  /// Never changes.
  virtual const std::vector<Channel>& channels() const = 0;
  /// Fills values[i] for channels()[i]; NaN what cannot be read. Unless `all`, what is slow to read
  /// is left out. Always called from one thread.
  virtual void read(std::span<double> values, bool all) = 0;
};

struct TelemetrySourceFactory {
  std::string_view name;
  /// Null where there is nothing to read.
  std::unique_ptr<TelemetrySource> (*open)(const TelemetryRequest& request);
};
using TelemetrySourceRegistry = Registry<TelemetrySourceFactory>;

using TelemetrySources = std::vector<std::unique_ptr<TelemetrySource>>;
/// Every source that has something to say here; accelerators are numbered through.
TelemetrySources open_telemetry_sources(TelemetryRequest request);
/// Their channels one after the other.
std::vector<Channel> channels_of(const TelemetrySources& sources);
/// A value for each of those channels, see TelemetrySource::read.
std::vector<double> read_sources(const TelemetrySources& sources, bool all);
/// Whether the request can mean an accelerator on the PCI bus at all.
bool wants_pci_devices(const TelemetryRequest& request);

}  // namespace assay
