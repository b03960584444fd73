#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::ecc_check {
namespace {

constexpr Advice advice = {
    .wanted = "on",
    .why = "without it a flipped bit in memory reaches results and checkpoints unnoticed",
    .source = "NVML docs, nvmlDeviceGetEccMode; Linux kernel documentation, AMDGPU RAS Support",
    .fix =
        "sudo nvidia-smi --ecc-config=1 and reboot (AMD: amdgpu.ras_enable=1 in the kernel's "
        "command line)"};

std::optional<Finding> look(const Gpu& gpu) {
  if (!gpu.ecc) {
    return unknown(advice,
                   gpu.virtual_function ? "a virtual function does not show it; its host sets it"
                                        : "the driver does not report it",
                   label(gpu));
  }
  return *gpu.ecc ? passed(advice, "on", label(gpu)) : warned(advice, "off", label(gpu));
}

std::vector<Finding> run(const CheckContext& context) {
  return for_each_gpu(context, look);
}

const CheckRegistry::Add registered{{"ecc", "ECC", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::ecc_check
