// A part of this machine: a partition or device of a GPU, or a set of CPUs.
#include <fmt/format.h>

#include "ranks/environments/environment.h"
#include "ranks/environments/kinds/visible_gpus.h"

namespace assay::partition_environment {
namespace {

class Partition final : public Environment {
 public:
  std::string measured;  // the device to measure
  std::string visible, vendor;
  ResourceLimits limits;
  std::vector<std::pair<std::string, std::string>> variables;

  std::string device() const override { return measured; }

  Result<Launch> launch(const std::vector<std::string>& arguments,
                        const LaunchContext& context) const override {
    Launch launch;
    launch.words = {context.binary};
    launch.words.insert(launch.words.end(), arguments.begin(), arguments.end());
    launch.limits = limits;
    launch.variables = variables;
    if (visible.empty()) return launch;
    const std::string whose = TRY(vendor_of(context));
    launch.variables.emplace_back(visible_gpus_variable(whose == "amd"), visible);
    return launch;
  }

 private:
  Result<std::string> vendor_of(const LaunchContext& context) const {
    if (!vendor.empty()) return vendor;
    if (context.gpus && context.gpus->amd != context.gpus->nvidia) {
      return std::string(context.gpus->amd ? "amd" : "nvidia");
    }
    return Error{ErrorKind::usage,
                 fmt::format("environment {}: visible: {} needs vendor: amd or nvidia, since this "
                             "machine has {}",
                             context.environment, visible,
                             context.gpus && context.gpus->amd ? "both" : "neither")};
  }
};

Result<std::unique_ptr<Environment>> read(const YamlReader& settings, std::string_view) {
  auto partition = std::make_unique<Partition>();
  partition->limits = TRY(read_limits(settings));
  TRY(settings.optional("device", partition->measured));
  TRY(settings.optional("visible", partition->visible));
  TRY(settings.optional("vendor", partition->vendor));
  TRY(settings.optional("variables", partition->variables));
  if (!partition->vendor.empty() && partition->vendor != "amd" && partition->vendor != "nvidia") {
    return settings.wrong(
        "vendor", fmt::format("\"vendor\" must be amd or nvidia, not \"{}\"", partition->vendor));
  }
  if (partition->measured.empty() && partition->visible.empty() && !partition->limits.any()) {
    return settings.wrong(settings.value(),
                          "a partition needs device: (cuda:0), visible: (an index or UUID) or "
                          "cpus: (0-3)");
  }
  return std::unique_ptr<Environment>(std::move(partition));
}

const EnvironmentKindRegistry::Add registered{
    {"partition",
     "a part of this machine: a GPU's partition, a device, or a set of CPUs",
     {"device", "visible", "vendor", "cpus", "cpu_quota", "memory", "variables"},
     &read}};

}  // namespace
}  // namespace assay::partition_environment
