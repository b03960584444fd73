// Energy of the CPU packages, from the powercap files. On most systems only root may read them.
#include <fmt/format.h>

#include <cmath>

#include "machine/system/fact_source.h"
#include "machine/telemetry/kept_file.h"
#include "machine/telemetry/source.h"

namespace assay::rapl_source {
namespace {

/// Turns a counter that wraps at `range` into one that does not.
class Package {
 public:
  Package(const std::filesystem::path& folder, double range)
      : file_(folder / "energy_uj"), range_(range) {}

  double joules() {
    const double now = file_.read_number();
    if (std::isnan(now)) return now;
    if (now < last_) wrapped_ += range_;
    last_ = now;
    return (wrapped_ + now) * 1e-6;
  }

 private:
  KeptFile file_;
  double range_, last_ = 0, wrapped_ = 0;
};

class RaplSource final : public TelemetrySource {
 public:
  explicit RaplSource(const TelemetryRequest& request) {
    const std::filesystem::path folder = "sys/class/powercap";
    const FolderMachine machine(request.root);
    for (const std::string& zone : machine.list(folder)) {
      // "intel-rapl:0" is a package, also on AMD; "intel-rapl:0:0" is a part of it.
      const auto name = read_fact(machine, folder / zone / "name");
      if (zone.rfind("intel-rapl:", 0) != 0 || !name || name->rfind("package-", 0) != 0) continue;
      const auto range = read_number(machine, folder / zone / "max_energy_range_uj");
      Package package(request.root / folder / zone, static_cast<double>(range.value_or(0)));
      if (std::isnan(package.joules())) continue;
      channels_.push_back({"cpu", fmt::format("{}.energy", *name), "J", ChannelKind::counter, ""});
      packages_.push_back(std::move(package));
    }
  }

  const std::vector<Channel>& channels() const override { return channels_; }
  void read(std::span<double> values, bool) override {
    for (std::size_t i = 0; i < packages_.size(); ++i) values[i] = packages_[i].joules();
  }

 private:
  std::vector<Channel> channels_;
  std::vector<Package> packages_;
};

const TelemetrySourceRegistry::Add registered{
    {"rapl", [](const TelemetryRequest& request) -> std::unique_ptr<TelemetrySource> {
       auto source = std::make_unique<RaplSource>(request);
       if (source->channels().empty()) return nullptr;
       return source;
     }}};

}  // namespace
}  // namespace assay::rapl_source
