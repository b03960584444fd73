#include <fmt/format.h>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::power_cap_check {
namespace {

constexpr Advice advice = {
    .wanted = "the default limit",
    .why = "matrix products run against the power limit, so a lower one lowers their clock",
    .source = "AMD SMI docs, set --power-cap; nvidia-smi man page, --power-limit",
    .fix = {}};

std::string fix_for(const Gpu& gpu, double watts) {
  if (gpu.vendor == "nvidia") {
    return fmt::format("sudo nvidia-smi --power-limit {:.0f}", watts);
  }
  return fmt::format("sudo amd-smi set --gpu all --power-cap {:.0f}", watts);
}

std::optional<Finding> look(const Gpu& gpu) {
  if (!gpu.power_cap_watts) {
    return unknown(advice,
                   gpu.virtual_function
                       ? "a virtual function does not show the limit; its host sets it"
                       : "the driver does not report the limit",
                   label(gpu));
  }
  // hwmon has power1_cap_default since Linux 6.1; before that, the highest limit is a substitute.
  const auto usual =
      gpu.power_cap_default_watts ? gpu.power_cap_default_watts : gpu.power_cap_max_watts;
  if (!usual) {
    return unknown(advice,
                   fmt::format("{:.0f} W, but the default is unknown", *gpu.power_cap_watts),
                   label(gpu));
  }
  const std::string found = fmt::format("{:.0f} W of {:.0f} W", *gpu.power_cap_watts, *usual);
  constexpr double rounding_watts = 0.5;
  if (*gpu.power_cap_watts >= *usual - rounding_watts) return passed(advice, found, label(gpu));
  Finding finding = gpu.power_cap_default_watts ? failed(advice, found, label(gpu))
                                                : warned(advice, found, label(gpu));
  finding.fix = fix_for(gpu, *usual);
  return finding;
}

std::vector<Finding> run(const CheckContext& context) {
  return for_each_gpu(context, look);
}

const CheckRegistry::Add registered{{"power-cap", "Power limit", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::power_cap_check
