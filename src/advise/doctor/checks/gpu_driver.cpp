#include <fmt/format.h>

#include "advise/doctor/advice.h"
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
    .mend = "sudo modprobe amdgpu (or nvidia), then sudo dmesg | grep -i -e amdgpu -e nvidia"};

/// PCI classes: processing accelerator; 3D, display and VGA controller.
bool is_gpu(const Machine& machine, const std::filesystem::path& folder) {
  const auto type = read_setting(machine, folder / "class").text.value_or("");
  const auto vendor = read_setting(machine, folder / "vendor").text.value_or("");
  if (vendor != "0x1002" && vendor != "0x10de") return false;
  return type.starts_with("0x1200") || type.starts_with("0x0302") || type.starts_with("0x0380") ||
         type.starts_with("0x0300");
}

std::vector<Finding> run(const CheckContext& context) {
  std::vector<Finding> findings;
  for (const std::string& address : context.machine.list("sys/bus/pci/devices")) {
    const std::filesystem::path folder = pci_folder(address);
    if (!is_gpu(context.machine, folder)) continue;
    const std::string driver = context.machine.resolve(folder / "driver").filename().string();
    if (driver.empty()) {
      findings.push_back(failed(advice, "no driver", address));
    } else if (driver.starts_with("vfio")) {
      findings.push_back(passed(advice, driver + ": passed through to a virtual machine", address));
    } else {
      findings.push_back(passed(advice, driver, address));
    }
  }
  // The driver is loaded, but its management library does not work with it.
  const Json nvidia = context.machine.ask("nvidia");
  if (nvidia.is_object() && nvidia.contains("problem") && nvidia["problem"].is_string()) {
    findings.push_back(failed(advice, nvidia["problem"].get<std::string>(), "NVML"));
  }
  return findings;
}

const CheckRegistry::Add registered{{"gpu-driver", "GPU drivers", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::gpu_driver_check
