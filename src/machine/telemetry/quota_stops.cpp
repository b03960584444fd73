#include "machine/telemetry/quota_stops.h"

#include <cmath>
#include <utility>

#include "machine/system/cgroup.h"

namespace assay {

QuotaStops::QuotaStops(KeptFile file, int version)
    : file_(std::move(file)),
      key_(version == 2 ? "throttled_usec" : "throttled_time"),
      unit_(version == 2 ? 1e-6 : 1e-9) {}

std::optional<QuotaStops> QuotaStops::open(const std::filesystem::path& root) {
  const CgroupLimits limits = read_cgroup_limits(FolderMachine(root));
  if (limits.cpu_statistics.empty()) return std::nullopt;
  QuotaStops stops(KeptFile(root / limits.cpu_statistics), limits.version);
  if (std::isnan(stops.read().seconds)) return std::nullopt;  // the controller is not enabled here
  return stops;
}

QuotaStops::Counts QuotaStops::read() {
  const std::string_view text = file_.read_start();
  return {number_after(text, key_) * unit_, number_after(text, "nr_throttled")};
}

}  // namespace assay
