#include "compute/backends/cuda/nvml_facts.h"

#include <fmt/format.h>

#include <filesystem>

#include "compute/backends/cuda/nvml.h"
#include "core/json.h"
#include "machine/system/fact_source.h"
#include "machine/system/probe.h"

namespace assay::cuda {
namespace {

using TextFunction = int (*)(NvmlDevice*, char*, unsigned);
using NumberFunction = int (*)(NvmlDevice*, unsigned*);

std::string text_of(TextFunction function, NvmlDevice* device) {
  char text[96] = {};
  return nvml_ok(function, device, text, unsigned{sizeof(text)}) ? text : std::string();
}

std::optional<unsigned> number_of(NumberFunction function, NvmlDevice* device) {
  unsigned value = 0;
  if (!nvml_ok(function, device, &value)) return std::nullopt;
  return value;
}

std::optional<double> scaled(std::optional<unsigned> value, double unit) {
  if (!value) return std::nullopt;
  return *value * unit;
}

/// Reads PCI facts: the identity from NVML, the position in the machine from sysfs.
void read_place(const NvmlApi& api, NvmlDevice* device, Gpu& gpu) {
  NvmlPci pci{};
  if (!nvml_ok(api.pci, device, &pci)) return;
  gpu.pci = pci_text(pci);
  gpu.device_id = fmt::format("{:04x}", pci.device_and_vendor >> 16);
  const Machine& machine = this_machine();
  const std::filesystem::path folder = std::filesystem::path("sys/bus/pci/devices") / gpu.pci;
  if (const auto node = read_number(machine, folder / "numa_node")) {
    gpu.numa_node = static_cast<int>(*node);
  }
  gpu.local_cpus = read_fact(machine, folder / "local_cpulist").value_or("");
  const auto speed = [&](NumberFunction function) -> std::optional<double> {
    const double gts = pcie_speed_gts(number_of(function, device).value_or(0));
    if (gts == 0) return std::nullopt;
    return gts;
  };
  gpu.pcie.speed_gts = speed(api.pcie_generation);
  gpu.pcie.speed_max_gts = speed(api.pcie_generation_max);
  gpu.pcie.width = number_of(api.pcie_width, device);
  gpu.pcie.width_max = number_of(api.pcie_width_max, device);
}

void read_identity(const NvmlApi& api, NvmlDevice* device, Gpu& gpu) {
  gpu.name = text_of(api.name, device);
  gpu.uuid = text_of(api.uuid, device);
  gpu.serial = text_of(api.serial, device);
  gpu.vbios = text_of(api.vbios, device);
  const auto firmware = [&](const char* block, const std::string& version) {
    if (!version.empty()) gpu.firmware[block] = version;
  };
  firmware("inforom", text_of(api.inforom_image, device));
  for (const auto& [block, object] :
       {std::pair{"inforom_oem", nvml::inforom_oem}, std::pair{"inforom_ecc", nvml::inforom_ecc},
        std::pair{"inforom_power", nvml::inforom_power}}) {
    char version[96] = {};
    if (nvml_ok(api.inforom, device, object, version, unsigned{sizeof(version)})) {
      firmware(block, version);
    }
  }
  char gsp[96] = {};
  if (nvml_ok(api.gsp_firmware, device, gsp)) firmware("gsp", gsp);
  int major = 0, minor = 0;
  if (nvml_ok(api.capability, device, &major, &minor)) {
    gpu.arch = fmt::format("sm_{}{}", major, minor);
    const int each = cores_per_multiprocessor(major, minor);
    const auto cores = number_of(api.cores, device);
    if (cores && each > 0) gpu.compute_units = static_cast<int>(*cores) / each;
  }
  if (const auto number = number_of(api.minor_number, device)) {
    gpu.device_files = {fmt::format("dev/nvidia{}", *number)};
  }
}

void read_modes(const NvmlApi& api, NvmlDevice* device, Gpu& gpu) {
  NvmlMemory2 memory2{};
  memory2.version = nvml::memory2_version;
  NvmlMemory memory{};
  if (nvml_ok(api.memory2, device, &memory2)) {
    gpu.memory_bytes = memory2.total;
  } else if (nvml_ok(api.memory, device, &memory)) {
    gpu.memory_bytes = memory.total;
  }
  NvmlBar1 bar{};
  if (nvml_ok(api.bar1, device, &bar)) gpu.visible_memory_bytes = bar.total;
  unsigned mig = 0, mig_pending = 0;
  if (nvml_ok(api.mig_mode, device, &mig, &mig_pending)) {
    gpu.compute_partition = mig != 0 ? "MIG" : "";
    gpu.compute_partitions = "MIG";
  }
  int ecc = 0, ecc_pending = 0;
  if (nvml_ok(api.ecc_mode, device, &ecc, &ecc_pending)) gpu.ecc = ecc != 0;
  int virtualization = 0;
  gpu.virtual_function =
      nvml_ok(api.virtualization, device, &virtualization) && virtualization == nvml::virtual_gpu;
  auto cap = number_of(api.power_limit_enforced, device);
  if (!cap) cap = number_of(api.power_limit, device);
  gpu.power_cap_watts = scaled(cap, 1e-3);
  gpu.power_cap_default_watts = scaled(number_of(api.power_limit_default, device), 1e-3);
  unsigned least = 0, most = 0;
  if (nvml_ok(api.power_limit_range, device, &least, &most)) gpu.power_cap_max_watts = most * 1e-3;
  unsigned clock = 0;
  if (nvml_ok(api.clock_max, device, nvml::clock_sm, &clock)) gpu.clock_max_hz = clock * 1e6;
}

void read_links(const NvmlApi& api, NvmlDevice* device, Gpu& gpu) {
  for (unsigned link = 0; link < nvml::most_links; ++link) {
    int active = 0;
    if (!nvml_ok(api.nvlink_state, device, link, &active)) continue;
    PeerLink peer{"nvlink", "", active != 0, std::nullopt};
    int type = -1;
    const bool known = nvml_ok(api.nvlink_remote_type, device, link, &type);
    NvmlPci pci{};
    if (known && type == nvml::link_to_switch) {
      peer.peer = "switch";
    } else if (nvml_ok(api.nvlink_remote_pci, device, link, &pci)) {
      peer.peer = pci_text(pci);
    }
    constexpr double megabyte = 1e6;
    const double speed = field_value(api, device, nvml::field_nvlink_speed, link);
    if (speed > 0) peer.bytes_per_second = speed * megabyte;
    gpu.links.push_back(std::move(peer));
  }
}

std::optional<long long> ecc_errors(const NvmlApi& api, NvmlDevice* device, int type) {
  unsigned long long errors = 0;
  if (!nvml_ok(api.ecc_errors, device, type, nvml::ecc_volatile, &errors)) return std::nullopt;
  return static_cast<long long>(errors);
}

/// Returns remapped rows on GPUs that support it, otherwise retired pages, summed over both kinds
/// of error.
std::optional<long long> retired(const NvmlApi& api, NvmlDevice* device) {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (nvml_ok(api.remapped_rows, device, &corrected, &uncorrected, &pending, &failed)) {
    return static_cast<long long>(corrected) + uncorrected;
  }
  std::optional<long long> pages;
  for (const int cause : {nvml::retired_for_corrected, nvml::retired_for_uncorrected}) {
    unsigned count = 0;
    unsigned long long* const no_addresses = nullptr;
    if (nvml_ok(api.retired_pages, device, cause, &count, no_addresses)) {
      pages = pages.value_or(0) + count;
    }
  }
  return pages;
}

void read_state(const NvmlApi& api, NvmlDevice* device, GpuState& state) {
  unsigned value = 0;
  if (nvml_ok(api.clock, device, nvml::clock_sm, &value)) state.engine_clocks_hz = {value * 1e6};
  state.power_watts = scaled(number_of(api.power, device), 1e-3);
  if (nvml_ok(api.temperature, device, nvml::sensor_gpu, &value)) state.temperature_celsius = value;
  unsigned long long reasons = 0;
  if (nvml_ok(api.throttle_reasons, device, &reasons)) {
    state.throttle_reasons = throttle_words(reasons);
  }
  state.correctable_errors = ecc_errors(api, device, nvml::ecc_corrected);
  state.uncorrectable_errors = ecc_errors(api, device, nvml::ecc_uncorrected);
  state.retired_pages = retired(api, device);
  if (const auto replays = number_of(api.pcie_replays, device)) state.pcie_replays = *replays;
  NvmlUtilization utilization{};
  if (nvml_ok(api.utilization, device, &utilization)) {
    state.utilisation_percent = static_cast<int>(utilization.gpu);
  }
}

const ProbeRegistry::Add registered{{"nvidia", &nvml_facts}};

}  // namespace

int cores_per_multiprocessor(int major, int minor) {
  if (major == 7 || (major == 8 && minor == 0)) return 64;
  return major >= 8 && major <= 12 ? 128 : 0;
}

double pcie_speed_gts(unsigned generation) {
  constexpr double speeds[] = {0, 2.5, 5, 8, 16, 32, 64};
  return generation < std::size(speeds) ? speeds[generation] : 0;
}

Gpu nvml_gpu(const NvmlApi& api, NvmlDevice* device, int index) {
  Gpu gpu;
  gpu.vendor = "nvidia";
  gpu.index = index;
  read_place(api, device, gpu);
  read_identity(api, device, gpu);
  read_modes(api, device, gpu);
  read_links(api, device, gpu);
  read_state(api, device, gpu.state);
  return gpu;
}

Json nvml_facts() {
  const auto& nvml = Nvml::shared();
  if (!nvml) {
    // Without the driver's device files this is a machine without NVIDIA GPUs, not a broken one.
    const bool driver = this_machine().exists("dev/nvidiactl") || this_machine().exists("dev/dxg");
    return driver ? Json{{"problem", nvml.error().message}} : Json();
  }
  Json json = {{"driver", nvml.value()->driver_version()}, {"library", nvml.value()->path()}};
  int version = 0;
  if (nvml_ok(nvml.value()->api().cuda_version, &version)) json["cuda_driver"] = version;
  json["gpus"] = Json::array();
  int index = 0;
  for (NvmlDevice* const device : nvml.value()->devices()) {
    Gpu gpu = nvml_gpu(nvml.value()->api(), device, index++);
    gpu.driver = nvml.value()->driver_version();
    json["gpus"].push_back(to_json(gpu, true));
  }
  return json;
}

}  // namespace assay::cuda
