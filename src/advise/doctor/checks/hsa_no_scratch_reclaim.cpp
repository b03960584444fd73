#include <fmt/format.h>

#include <charconv>

#include "advise/doctor/gpu_model.h"
#include "advise/doctor/variable_advice.h"

namespace assay::hsa_no_scratch_reclaim_check {
namespace {

constexpr const char* name = "HSA_NO_SCRATCH_RECLAIM";

constexpr Advice advice = {
    .wanted = "HSA_NO_SCRATCH_RECLAIM=1 with MEC firmware older than 177",
    .why =
        "RCCL kernels lose time, or crash, when the runtime takes their scratch memory back and "
        "the firmware cannot do that asynchronously",
    .source = "ROCm 6.4.3 release notes: AMDGPU driver updates; RCCL usage tips",
    .fix = "export HSA_NO_SCRATCH_RECLAIM=1"};

constexpr unsigned long reclaims_well_since = 177;

/// The firmware version, which the driver writes as "0x000000b1".
std::optional<unsigned long> mec_firmware(const Gpu& gpu) {
  const auto version = gpu.firmware.find("mec");
  if (version == gpu.firmware.end()) return std::nullopt;
  std::string_view text = version->second;
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  unsigned long number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<Finding> run(const CheckContext& context) {
  if (!has_mi300x(context) || gpus_used(context) < 2) return {};
  if (variable(context, name) == "1") return {passed(advice, variable_text(context, name))};
  for (const Gpu& gpu : context.gpus) {
    if (gpu.vendor != "amd") continue;
    const auto firmware = mec_firmware(gpu);
    const bool reclaims_well = firmware && *firmware >= reclaims_well_since;
    if (reclaims_well) continue;
    if (auto finding = variables_not_known(context, advice)) return {*finding};
    if (!firmware) {
      return {unknown(advice, variable_text(context, name) +
                                  ", and the driver does not report the MEC firmware's version")};
    }
    return {warned(advice,
                   fmt::format("{}, MEC firmware {}", variable_text(context, name), *firmware))};
  }
  return {passed(advice, fmt::format("not needed: MEC firmware {} or newer", reclaims_well_since))};
}

const CheckRegistry::Add registered{
    {"hsa-no-scratch-reclaim", "HSA_NO_SCRATCH_RECLAIM", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::hsa_no_scratch_reclaim_check
