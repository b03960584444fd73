#include "machine/virtual_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "machines/amd_gpus.h"

namespace mi300x {
namespace {

using assay::AmdNode;
using assay::MemoryMachine;
using assay::Slot;

AmdNode node_of(const runtime::Machine& runtime) {
  AmdNode node;
  node.gpus = runtime.gpus;
  node.partitions = runtime.partitions;
  node.model.name = runtime.name();
  node.model.memory_bytes = runtime.memory_bytes * static_cast<unsigned>(runtime.partitions);
  if (runtime.partitions > 1) {
    node.compute_partition = "CPX";
    node.memory_partition = "NPS4";
  }
  if (runtime.virtual_functions) node.model.device_id = "74b5";
  return node;
}

/// Removes files that the driver in a guest does not have.
void hide_from_guest(MemoryMachine& machine, int gpu) {
  for (const char* file :
       {"unique_id", "current_link_speed", "max_link_speed", "current_link_width", "max_link_width",
        "ras/umc_err_count", "ras/gfx_err_count", "hwmon/hwmon3/power1_cap", "hwmon/hwmon3/name",
        "hwmon/hwmon3/power1_cap_default", "hwmon/hwmon3/power1_cap_max", "pcie_replay_count",
        "hwmon/hwmon3/power1_input", "current_memory_partition", "fw_version/mec_fw_version",
        "gpu_busy_percent"}) {
    machine.erase(assay::amd_folder(gpu) + "/" + file);
  }
}

void check_agreement(const runtime::Machine& runtime, const MemoryMachine& machine) {
  for (int device = 0; device < runtime.devices(); ++device) {
    const int gpu = runtime.gpu_of(device);
    const auto agree = [&](const char* what, const std::string& here, const std::string& there) {
      if (here == there) return;
      throw std::runtime_error(fmt::format("device {}: its {} is {} in sysfs and {} in the runtime",
                                           device, what, here, there));
    };
    agree("PCI address", Slot{gpu, 0}.card(), runtime.pci_address(device));
    if (runtime.virtual_functions) continue;  // their identities are not visible
    agree("unique id", machine.text(assay::amd_folder(gpu) + "/unique_id"),
          runtime.uuid(device) + "\n");
  }
}

}  // namespace

MemoryMachine virtual_machine(const runtime::Machine& runtime, int cpus) {
  MemoryMachine machine;
  assay::Host host;
  host.cpus = cpus;  // the emulator runs on these
  host.sockets = std::min(cpus, 2);
  assay::Bridges bridges;
  bridges.iommu = "identity";
  if (runtime.virtual_functions) {
    host.governor = "";
    bridges = {};
  }
  add_host(machine, host);
  const AmdNode node = node_of(runtime);
  add_amd_node(machine, node, bridges);
  for (int gpu = 0; gpu < runtime.gpus; ++gpu) {  // telemetry finds GPUs by these
    machine.link("sys/bus/pci/drivers/amdgpu/" + Slot{gpu, 0}.card(), assay::amd_folder(gpu));
  }
  if (runtime.virtual_functions) {
    for (int gpu = 0; gpu < runtime.gpus; ++gpu) hide_from_guest(machine, gpu);
  }
  machine.write("opt/rocm/.info/version", "6.4.1-83\n");
  check_agreement(runtime, machine);
  return machine;
}

}  // namespace mi300x
