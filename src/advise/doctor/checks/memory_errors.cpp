#include <fmt/format.h>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::memory_errors_check {
namespace {

constexpr Advice advice = {
    .wanted = "no errors, no retired pages",
    .why =
        "an uncorrectable error kills the process that meets it or corrupts its data; "
        "correctable ones warn of it",
    .source = "Linux kernel documentation, AMDGPU RAS Support; NVIDIA GPU Memory Error Management",
    .fix = {}};

std::string fix_for(const Gpu& gpu) {
  return gpu.vendor == "nvidia"
             ? "nvidia-smi -q -d ECC,ROW_REMAPPER; reset the GPU, and replace it if errors return"
             : "amd-smi metric --ecc-blocks; amd-smi bad-pages; reset the GPU, and replace it if "
               "errors return";
}

/// The counts as text: "3 correctable errors, 1 retired page".
std::string counts_text(const GpuState& state) {
  std::vector<std::string> parts;
  const auto add = [&](const std::optional<long long>& count, const char* name) {
    if (count && *count > 0) {
      parts.push_back(fmt::format("{} {}{}", *count, name, *count == 1 ? "" : "s"));
    }
  };
  add(state.uncorrectable_errors, "uncorrectable error");
  add(state.correctable_errors, "correctable error");
  add(state.retired_pages, "retired page");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::optional<Finding> look(const Gpu& gpu) {
  const GpuState& state = gpu.state;
  if (!state.uncorrectable_errors && !state.correctable_errors && !state.retired_pages) {
    return unknown(advice,
                   gpu.virtual_function
                       ? "a virtual function does not show its host's counters"
                       : "the driver shows no error counters, or needs root for them",
                   label(gpu));
  }
  const std::string found = counts_text(state);
  if (found.empty()) return passed(advice, "none", label(gpu));
  Finding finding = bad(state.uncorrectable_errors.value_or(0) > 0, advice, found, label(gpu));
  finding.fix = fix_for(gpu);
  return finding;
}

std::vector<Finding> run(const CheckContext& context) {
  return for_each_gpu(context, look);
}

const CheckRegistry::Add registered{{"memory-errors", "ECC and RAS errors", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::memory_errors_check
