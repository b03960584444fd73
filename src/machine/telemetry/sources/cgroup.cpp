// How long this process's control group was throttled because it had used up its CPU quota.
#include "machine/system/cgroup.h"

#include <cmath>

#include "machine/telemetry/kept_file.h"
#include "machine/telemetry/source.h"

namespace assay::cgroup_source {
namespace {

class CgroupSource final : public TelemetrySource {
 public:
  CgroupSource(const TelemetryRequest& request, const CgroupLimits& limits)
      : file_(request.root / limits.cpu_statistics),
        key_(limits.version == 2 ? "throttled_usec" : "throttled_time"),
        unit_(limits.version == 2 ? 1e-6 : 1e-9) {}

  const std::vector<Channel>& channels() const override { return channels_; }
  void read(std::span<double> values, bool all) override {
    if (!all) return;
    const std::string_view text = file_.read_start();
    values[0] = number_after(text, key_) * unit_;
    values[1] = number_after(text, "nr_throttled");
  }

 private:
  const std::vector<Channel> channels_ = {
      {"cgroup", "throttled", "s", ChannelKind::counter, ""},
      {"cgroup", "throttled_periods", "1", ChannelKind::counter, ""},
  };
  KeptFile file_;
  const std::string_view key_;
  const double unit_;
};

const TelemetrySourceRegistry::Add registered{
    {"cgroup", [](const TelemetryRequest& request) -> std::unique_ptr<TelemetrySource> {
       const CgroupLimits limits = read_cgroup_limits(FolderMachine(request.root));
       if (limits.cpu_statistics.empty()) return nullptr;
       auto source = std::make_unique<CgroupSource>(request, limits);
       double values[2] = {};
       source->read(values, true);
       if (std::isnan(values[0])) return nullptr;  // the controller is not enabled here
       return source;
     }}};

}  // namespace
}  // namespace assay::cgroup_source
