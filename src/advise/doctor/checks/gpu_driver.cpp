#include <fmt/format.h>

#include <algorithm>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"
#include "advise/doctor/pci.h"
#include "core/json.h"

namespace assay::gpu_driver_check {
namespace {

constexpr Advice advice = {
    .wanted = "a driver on every GPU",
    .why =
        "a GPU without its driver is missing from every job, and what is left of the mesh has "
        "less bandwidth",
    .source = "ROCm docs, MI300X system optimization: Hardware verification with ROCm",
    .fix = "sudo modprobe amdgpu (or nvidia), then sudo dmesg | grep -i -e amdgpu -e nvidia"};

constexpr Advice all_there = {
    .wanted = "8 GPUs on the PCI bus: boards of this model carry a mesh of 8",
    .why =
        "a GPU that is not even on the bus has failed or has no power; every job that needs the "
        "whole mesh does without it",
    .source = "ROCm docs, MI300X system optimization: Hardware verification with ROCm",
    .fix =
        "sudo dmesg | grep -i -e amdgpu -e pcie, the log of the BMC, a cold start; then the "
        "vendor"};

/// Whether the PCI class is that of a processing accelerator or a 3D, display or VGA controller.
bool is_gpu(const Machine& machine, const std::filesystem::path& folder) {
  const auto type = read_setting(machine, folder / "class").text.value_or("");
  const auto vendor = read_setting(machine, folder / "vendor").text.value_or("");
  if (vendor != "0x1002" && vendor != "0x10de") return false;
  return type.starts_with("0x1200") || type.starts_with("0x0302") || type.starts_with("0x0380") ||
         type.starts_with("0x0300");
}

std::vector<Finding> run(const CheckContext& context) {
  std::vector<Finding> findings;
  int on_bus = 0;
  for (const std::string& address : context.machine.list("sys/bus/pci/devices")) {
    const std::filesystem::path folder = pci_folder(address);
    if (!is_gpu(context.machine, folder)) continue;
    ++on_bus;
    const std::string driver = context.machine.resolve(folder / "driver").filename().string();
    if (driver.empty()) {
      findings.push_back(failed(advice, "no driver", address));
    } else if (driver.starts_with("vfio")) {
      findings.push_back(passed(advice, driver + ": passed through to a virtual machine", address));
    } else {
      findings.push_back(passed(advice, driver, address));
    }
  }
  const bool mesh = std::any_of(context.gpus.begin(), context.gpus.end(), on_mesh_of_eight);
  if (mesh && !context.virtual_machine() && on_bus > 0 && on_bus < 8) {
    findings.push_back(failed(all_there, fmt::format("{} of 8 GPUs", on_bus), "PCI bus"));
  }
  // NVML reports a problem if the driver is loaded but the library does not work with it.
  const Json nvidia = context.machine.ask("nvidia");
  if (nvidia.is_object() && nvidia.contains("problem") && nvidia["problem"].is_string()) {
    findings.push_back(failed(advice, nvidia["problem"].get<std::string>(), "NVML"));
  }
  return findings;
}

const CheckRegistry::Add registered{{"gpu-driver", "GPU drivers", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::gpu_driver_check
