// Telemetry of the scripted device: constant readings and a matching energy counter, in real time.
#include <chrono>
#include <cstdlib>

#include "compute/backends/fake/fake_script.h"
#include "machine/telemetry/source.h"

namespace assay::fake::fake_telemetry {
namespace {

class FakeTelemetry final : public TelemetrySource {
 public:
  FakeTelemetry(int index, bool throttled) : throttled_(throttled) {
    const std::string device = "gpu" + std::to_string(index);
    channels_ = {{device, "clock", "Hz", ChannelKind::gauge, hardware},
                 {device, "power", "W", ChannelKind::gauge, hardware},
                 {device, "energy", "J", ChannelKind::counter, hardware},
                 {device, "temperature", "degC", ChannelKind::gauge, hardware},
                 {device, "throttled", "1", ChannelKind::gauge, hardware},
                 {device, "power_limited", "1", ChannelKind::gauge, hardware},
                 {device, "memory_used", "bytes", ChannelKind::gauge, hardware}};
  }

  static constexpr const char* hardware = "fake:0";

  const std::vector<Channel>& channels() const override { return channels_; }
  void read(std::span<double> values, bool all) override {
    constexpr double hertz = 1e9, watts = 100, celsius = 40, bytes = 1 << 20;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now().time_since_epoch();
    values[0] = hertz;
    values[1] = watts;
    values[2] = watts * time.count();
    values[3] = celsius;
    values[4] = values[5] = throttled_ ? 1 : 0;
    if (all) values[6] = bytes;
  }

 private:
  const bool throttled_;
  std::vector<Channel> channels_;
};

const TelemetrySourceRegistry::Add registered{
    {"fake", [](const TelemetryRequest& request) -> std::unique_ptr<TelemetrySource> {
       const char* const text = std::getenv("ASSAY_FAKE");
       const bool wanted = request.root == "/" && (request.hardware.empty() ||
                                                   request.hardware == FakeTelemetry::hardware);
       const auto script =
           text == nullptr || !wanted ? Result<FakeScript>(Error{}) : parse_fake_script(text);
       if (!script) return nullptr;
       return std::make_unique<FakeTelemetry>(request.first_gpu, script->throttled_share > 0);
     }}};

}  // namespace
}  // namespace assay::fake::fake_telemetry
