#include <algorithm>
#include <array>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"
#include "core/units.h"
#include "machine/system/amd_gpus.h"

namespace assay::large_bar_check {
namespace {

constexpr Advice advice = {
    .wanted = "all of the memory visible to the CPU",
    .why =
        "the host, NICs and other GPUs reach only what the BAR covers; with less, peer access "
        "and GPUDirect RDMA fail or go through bounce buffers",
    .source = "ROCm docs, MI300X system optimization: System BIOS settings, Above 4G decoding",
    .fix = "Above 4G Decoding = Enabled and Resizable BAR = Enabled in the BIOS"};

/// Whether the GPU is an Instinct or an SXM module of NVIDIA, on which jobs depend on peer access
/// and GPUDirect.
bool for_data_centres(const Gpu& gpu) {
  const auto has = [&](std::string_view part) { return gpu.name.find(part) != std::string::npos; };
  if (gpu.vendor == "amd") return has("Instinct") || !amd_name(gpu.device_id).empty();
  if (has("SXM")) return true;
  if (has("PCIe") || has("NVL")) return false;
  // Since Hopper, the module's name alone means the SXM part.
  constexpr std::array<std::string_view, 9> modules = {"H100", "H200",  "H800",  "H20", "B100",
                                                       "B200", "GH200", "GB300", "B300"};
  return std::any_of(modules.begin(), modules.end(), has);
}

std::optional<Finding> look(const Gpu& gpu) {
  if (!gpu.memory_bytes) {
    return unknown(advice, "the driver does not report the size of the memory", label(gpu));
  }
  if (!gpu.visible_memory_bytes) {
    return unknown(advice, "the driver does not report how much of the memory is visible",
                   label(gpu));
  }
  const std::string memory = format_memory(*gpu.memory_bytes);
  // BAR sizes are powers of two, so a BAR may be larger than the memory.
  if (*gpu.visible_memory_bytes >= *gpu.memory_bytes) {
    return passed(advice, "all of " + memory, label(gpu));
  }
  return bad(for_data_centres(gpu), advice,
             format_memory(*gpu.visible_memory_bytes) + " of " + memory, label(gpu));
}

std::vector<Finding> run(const CheckContext& context) {
  return for_each_gpu(context, look);
}

const CheckRegistry::Add registered{{"large-bar", "Large BAR", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::large_bar_check
