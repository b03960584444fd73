#include <fmt/format.h>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::device_permissions_check {
namespace {

constexpr Advice advice = {
    .wanted = "this user may read and write it",
    .why = "the runtime then reports no device, or one device fewer",
    .source =
        "ROCm docs, Installation prerequisites: Setting permissions for groups; NVIDIA "
        "Container Toolkit docs",
    .fix = "sudo usermod -a -G render,video $USER and log in again"};

constexpr const char* amd_container =
    "docker run --device=/dev/kfd --device=/dev/dri --group-add "
    "video --group-add render";
constexpr const char* nvidia_container = "docker run --gpus all";

Finding look(const CheckContext& context, const std::string& vendor, const std::string& file) {
  const std::string subject = "/" + file;
  switch (context.machine.access(file)) {
    case FileState::found:
      return passed(advice, "may be opened", subject);
    case FileState::not_captured:
      return unknown(advice, "not in the capture", subject);
    case FileState::failed:
      return unknown(advice, "the kernel refuses to say", subject);
    case FileState::denied: {
      Finding finding = failed(advice, "permission denied", subject);
      if (vendor == "nvidia") finding.fix = "sudo chmod a+rw /dev/nvidia*";
      return finding;
    }
    case FileState::missing:
      break;
  }
  Finding finding = failed(advice, "does not exist", subject);
  if (!context.virtualization.container.empty()) {
    finding.fix = vendor == "amd" ? amd_container : nvidia_container;
  } else {
    finding.fix = vendor == "amd" ? "sudo modprobe amdgpu" : "sudo nvidia-modprobe -u -c 0";
  }
  return finding;
}

std::vector<Finding> run(const CheckContext& context) {
  std::vector<Finding> findings;
  if (context.has("amd")) findings.push_back(look(context, "amd", "dev/kfd"));
  if (context.has("nvidia")) findings.push_back(look(context, "nvidia", "dev/nvidiactl"));
  for (const Gpu& gpu : context.gpus) {
    for (const std::string& file : gpu.device_files) {
      findings.push_back(look(context, gpu.vendor, file));
    }
  }
  return findings;
}

const CheckRegistry::Add registered{{"device-permissions", "Device files", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::device_permissions_check
