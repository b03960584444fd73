#include "serving/visible_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "machine/system/gpu.h"
#include "machine/system/kfd.h"

namespace assay {
namespace {

/// Splits "4, 5" into its parts, without blanks: HIP takes none.
std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = trim(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

VisibleDevices of_variable(const Machine& machine, std::string_view variable, std::size_t count) {
  VisibleDevices visible{std::string(variable), {}};
  for (const std::string_view name : {variable, std::string_view("CUDA_VISIBLE_DEVICES")}) {
    const auto given = machine.variables().find(name);
    if (given == machine.variables().end()) continue;
    visible.devices = listed(given->second);
    return visible;
  }
  const auto outer = machine.variables().find("ROCR_VISIBLE_DEVICES");
  if (variable == "HIP_VISIBLE_DEVICES" && outer != machine.variables().end()) {
    count = listed(outer->second).size();
  }
  for (std::size_t i = 0; i < count; ++i) visible.devices.push_back(fmt::format("{}", i));
  return visible;
}

}  // namespace

std::optional<VisibleDevices> visible_devices(const Machine& machine) {
  if (const std::size_t amd = read_kfd_nodes(machine).size(); amd > 0) {
    return of_variable(machine, "HIP_VISIBLE_DEVICES", amd);
  }
  const auto gpus = read_gpus(machine);
  const auto nvidia = std::count_if(gpus.begin(), gpus.end(),
                                    [](const Gpu& gpu) { return gpu.vendor == "nvidia"; });
  if (nvidia == 0) return std::nullopt;
  return of_variable(machine, "CUDA_VISIBLE_DEVICES", static_cast<std::size_t>(nvidia));
}

}  // namespace assay
