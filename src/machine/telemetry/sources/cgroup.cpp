// How long this process's control group was throttled because it had used up its CPU quota.
#include <utility>

#include "machine/telemetry/quota_stops.h"
#include "machine/telemetry/source.h"

namespace assay::cgroup_source {
namespace {

class CgroupSource final : public TelemetrySource {
 public:
  explicit CgroupSource(QuotaStops stops) : stops_(std::move(stops)) {}

  const std::vector<Channel>& channels() const override { return channels_; }
  void read(std::span<double> values, bool all) override {
    if (!all) return;
    const QuotaStops::Counts counts = stops_.read();
    values[0] = counts.seconds;
    values[1] = counts.periods;
  }

 private:
  const std::vector<Channel> channels_ = {
      {"cgroup", "throttled", "s", ChannelKind::counter, ""},
      {"cgroup", "throttled_periods", "1", ChannelKind::counter, ""},
  };
  QuotaStops stops_;
};

const TelemetrySourceRegistry::Add registered{
    {"cgroup", [](const TelemetryRequest& request) -> std::unique_ptr<TelemetrySource> {
       std::optional<QuotaStops> stops = QuotaStops::open(request.root);
       if (!stops) return nullptr;
       return std::make_unique<CgroupSource>(*std::move(stops));
     }}};

}  // namespace
}  // namespace assay::cgroup_source
