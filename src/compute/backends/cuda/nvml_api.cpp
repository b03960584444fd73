#include "compute/backends/cuda/nvml_api.h"

#include <fmt/format.h>

#include <limits>
#include <utility>
#include <vector>

#include "compute/backends/cuda/cuda_libraries.h"
#include "core/bind_functions.h"

namespace assay::cuda {

Result<SharedLibrary> load_nvml(NvmlApi& api) {
  SharedLibrary library = TRY(SharedLibrary::open(nvml_candidates()));
  ASSAY_NVML(ASSAY_BIND_OPTIONAL)
  library.bind(api.throttle_reasons, {"nvmlDeviceGetCurrentClocksEventReasons",
                                      "nvmlDeviceGetCurrentClocksThrottleReasons"});
  if (api.init == nullptr) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} has no function nvmlInit_v2: is it NVML?", library.path())};
  }
  return library;
}

std::string throttle_words(unsigned long long bits) {
  constexpr std::pair<unsigned long long, const char*> words[] = {
      {0x2, "applications_clocks_setting"},
      {0x4, "sw_power_cap"},
      {0x8, "hw_slowdown"},
      {0x10, "sync_boost"},
      {0x20, "sw_thermal_slowdown"},
      {0x40, "hw_thermal_slowdown"},
      {0x80, "hw_power_brake_slowdown"},
      {0x100, "display_clock_setting"}};
  std::vector<std::string> found;
  unsigned long long unknown = bits & ~0x1ull;  // bit 0: idle
  for (const auto& [bit, word] : words) {
    if ((bits & bit) != 0) found.emplace_back(word);
    unknown &= ~bit;
  }
  if (unknown != 0) found.push_back(fmt::format("{:#x}", unknown));
  return fmt::format("{}", fmt::join(found, ","));
}

double field_value(const NvmlApi& api, NvmlDevice* device, unsigned field, unsigned scope) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  NvmlFieldValue value{};
  value.field = field;
  value.scope = scope;
  if (!nvml_ok(api.field_values, device, 1, &value) || value.status != nvml::success) return nan;
  switch (value.type) {
    case nvml::type_double:
      return value.as_double;
    case nvml::type_unsigned:
      return value.as_unsigned;
    case nvml::type_long:
      return static_cast<double>(value.as_long);
    case nvml::type_long_long:
      return static_cast<double>(value.as_long_long);
    case nvml::type_signed_long_long:
      return static_cast<double>(value.as_signed_long_long);
    case nvml::type_int:
      return value.as_int;
    case nvml::type_short:
      return value.as_short;
    default:
      return nan;
  }
}

std::string pci_text(const NvmlPci& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

}  // namespace assay::cuda
