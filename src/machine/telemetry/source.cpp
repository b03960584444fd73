#include "machine/telemetry/source.h"

#include <algorithm>
#include <limits>
#include <set>

namespace assay {

TelemetrySources open_telemetry_sources(TelemetryRequest request) {
  std::vector<TelemetrySourceFactory> factories = TelemetrySourceRegistry::entries();
  std::sort(factories.begin(), factories.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  TelemetrySources sources;
  for (const TelemetrySourceFactory& factory : factories) {
    std::unique_ptr<TelemetrySource> source = factory.open(request);
    if (source == nullptr) continue;
    std::set<std::string> accelerators;
    for (const Channel& channel : source->channels()) {
      if (!channel.hardware.empty()) accelerators.insert(channel.device);
    }
    request.first_gpu += static_cast<int>(accelerators.size());
    sources.push_back(std::move(source));
  }
  return sources;
}

std::vector<Channel> channels_of(const TelemetrySources& sources) {
  std::vector<Channel> channels;
  for (const auto& source : sources) {
    channels.insert(channels.end(), source->channels().begin(), source->channels().end());
  }
  return channels;
}

std::vector<double> read_sources(const TelemetrySources& sources, bool all) {
  std::size_t count = 0;
  for (const auto& source : sources) count += source->channels().size();
  std::vector<double> values(count, std::numeric_limits<double>::quiet_NaN());
  std::span<double> rest(values);
  for (const auto& source : sources) {
    const std::size_t own = source->channels().size();
    source->read(rest.first(own), all);
    rest = rest.subspan(own);
  }
  return values;
}

bool wants_pci_devices(const TelemetryRequest& request) {
  return request.hardware.empty() ||
         std::count(request.hardware.begin(), request.hardware.end(), ':') == 2;
}

}  // namespace assay
