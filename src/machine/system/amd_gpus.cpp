#include "machine/system/amd_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <sstream>

#include "machine/system/amdgpu_sysfs.h"
#include "machine/system/fact_source.h"
#include "machine/system/gpu_metrics.h"
#include "machine/system/kfd.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Returns 32 for "32.0 GT/s PCIe".
std::optional<double> leading_number(const std::optional<std::string>& text) {
  double value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || value <= 0) return std::nullopt;
  return value;
}

template <typename T>
std::optional<T> positive(const Machine& machine, const fs::path& path, double unit = 1) {
  const auto number = read_number(machine, path);
  if (!number || *number <= 0) return std::nullopt;
  return static_cast<T>(static_cast<double>(*number) * unit);
}

/// Returns the highest clock of a pp_dpm file: "0: 500Mhz\n1: 2100Mhz *".
std::optional<double> highest_clock(const Machine& machine, const fs::path& path) {
  std::istringstream lines(machine.read(path).text);
  std::optional<double> highest;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const auto megahertz = leading_number(line.substr(colon + 2));
    if (megahertz) highest = std::max(highest.value_or(0), *megahertz * 1e6);
  }
  return highest;
}

/// Sums the counts of every block ("ue: 0\nce: 3\nde: 0"); leaves `state` unchanged if none is
/// readable. A driver that reads errors through ACA, as newer ones do on MI300X and MI350X, has
/// "aca_umc" in place of "umc_err_count" (Linux, amdgpu_ras.c and amdgpu_aca.c). Deferred errors,
/// "de", are uncorrectable ones in data that no program has read yet.
void read_errors(const Machine& machine, const fs::path& device, GpuState& state) {
  for (const std::string& file : machine.list(device / "ras")) {
    if (!file.ends_with("_err_count") && !file.starts_with("aca_")) continue;
    const std::string text = machine.read(device / "ras" / file).text;
    for (const auto& [key, target] : {std::pair{"ue", &state.uncorrectable_errors},
                                      {"de", &state.uncorrectable_errors},
                                      {"ce", &state.correctable_errors}}) {
      const auto value = leading_number(line_value(text, key));
      const bool zero = line_value(text, key) == "0";
      if (value || zero) *target = target->value_or(0) + static_cast<long long>(value.value_or(0));
    }
  }
}

/// Returns the number of pages that the driver retired or is about to, one a line: "0x00000001 :
/// 0x00001000 : R". Empty without any: the list of a virtual function may be empty although its
/// host knows of pages.
std::optional<long long> count_retired_pages(const Machine& machine, const fs::path& device) {
  const std::string text = machine.read(device / "ras/gpu_vram_bad_pages").text;
  const auto pages = std::count(text.begin(), text.end(), '\n');
  return pages > 0 ? std::optional<long long>(pages) : std::nullopt;
}

std::map<std::string, std::string> read_firmware(const Machine& machine, const fs::path& device) {
  constexpr std::string_view suffix = "_fw_version";
  std::map<std::string, std::string> firmware;
  for (const std::string& file : machine.list(device / "fw_version")) {
    const auto version = read_fact(machine, device / "fw_version" / file);
    if (!version || !file.ends_with(suffix)) continue;
    firmware[file.substr(0, file.size() - suffix.size())] = *version;
  }
  return firmware;
}

void read_power(const Machine& machine, const fs::path& device, Gpu& gpu) {
  const fs::path hwmon = amdgpu_hwmon(machine, device);
  if (hwmon.empty()) return;
  gpu.power_cap_watts = positive<double>(machine, hwmon / "power1_cap", 1e-6);
  gpu.power_cap_default_watts = positive<double>(machine, hwmon / "power1_cap_default", 1e-6);
  gpu.power_cap_max_watts = positive<double>(machine, hwmon / "power1_cap_max", 1e-6);
}

void read_state(const Machine& machine, const fs::path& device, Gpu& gpu) {
  const SensorReading sensors = read_amdgpu_sensors(machine, gpu.pci);
  const GpuMetrics metrics = parse_gpu_metrics(machine.read(device / "gpu_metrics").text);
  gpu.state.engine_clocks_hz = metrics.engine_clocks_hz;
  if (gpu.state.engine_clocks_hz.empty() && sensors.clock_hz) {
    gpu.state.engine_clocks_hz = {*sensors.clock_hz};
  }
  gpu.state.power_watts = sensors.power_watts;
  gpu.state.temperature_celsius = sensors.temperature_celsius;
  if (const auto busy = read_number(machine, device / "gpu_busy_percent")) {
    gpu.state.utilisation_percent = static_cast<int>(*busy);
  }
  gpu.state.pcie_replays = read_number(machine, device / "pcie_replay_count");
  read_errors(machine, device, gpu.state);
  gpu.state.retired_pages = count_retired_pages(machine, device);
}

/// Reads everything in the folder of the PCI device.
Gpu read_device(const Machine& machine, const fs::path& device, const std::string& pci) {
  const auto fact = [&](const char* file) {
    return read_fact(machine, device / file).value_or("");
  };
  Gpu gpu;
  gpu.vendor = "amd";
  gpu.pci = pci;
  gpu.device_id = fact("device");
  if (gpu.device_id.starts_with("0x")) gpu.device_id.erase(0, 2);
  gpu.name = fact("product_name");
  if (gpu.name.empty()) gpu.name = amd_name(gpu.device_id);
  gpu.uuid = fact("unique_id");
  gpu.serial = fact("serial_number");
  gpu.vbios = fact("vbios_version");
  gpu.driver = read_fact(machine, "sys/module/amdgpu/version").value_or("");
  gpu.firmware = read_firmware(machine, device);
  gpu.memory_bytes = positive<std::uint64_t>(machine, device / "mem_info_vram_total");
  gpu.visible_memory_bytes = positive<std::uint64_t>(machine, device / "mem_info_vis_vram_total");
  gpu.compute_partition = fact("current_compute_partition");
  gpu.compute_partitions = fact("available_compute_partition");
  gpu.memory_partition = fact("current_memory_partition");
  gpu.memory_partitions = fact("available_memory_partition");
  gpu.performance_level = fact("power_dpm_force_performance_level");
  gpu.clock_max_hz = highest_clock(machine, device / "pp_dpm_sclk");
  gpu.pcie.speed_gts = leading_number(read_fact(machine, device / "current_link_speed"));
  gpu.pcie.speed_max_gts = leading_number(read_fact(machine, device / "max_link_speed"));
  gpu.pcie.width = positive<int>(machine, device / "current_link_width");
  gpu.pcie.width_max = positive<int>(machine, device / "max_link_width");
  if (const auto node = read_number(machine, device / "numa_node")) {
    gpu.numa_node = static_cast<int>(*node);
  }
  gpu.local_cpus = fact("local_cpulist");
  constexpr std::array<std::string_view, 7> virtual_ids = {"74b5", "74b6", "74b9", "74bc",
                                                           "74bd", "75b0", "75b3"};
  gpu.virtual_function =
      machine.exists(device / "physfn") ||
      std::find(virtual_ids.begin(), virtual_ids.end(), gpu.device_id) != virtual_ids.end();
  // The file with the memory controllers' error counts exists only while ECC is enabled. That of a
  // virtual function also depends on its host.
  const bool counted =
      machine.exists(device / "ras/umc_err_count") || machine.exists(device / "ras/aca_umc");
  if (counted || (machine.exists(device / "ras") && !gpu.virtual_function)) gpu.ecc = counted;
  read_power(machine, device, gpu);
  read_state(machine, device, gpu);
  return gpu;
}

/// Adds KFD's facts: architecture, compute units, links. Partitions of a socket are several nodes.
void add_kfd(const Machine& machine, std::vector<Gpu>& gpus) {
  const KfdTopology topology = read_kfd_topology(machine);
  const std::vector<KfdNode>& nodes = topology.nodes;
  std::map<int, std::string> pci_of_node;
  for (const KfdNode& node : nodes) pci_of_node[node.node] = node.pci;
  for (Gpu& gpu : gpus) {
    std::set<std::string> peers;
    for (const KfdNode& node : nodes) {
      if (node.pci != gpu.pci) continue;
      gpu.visible = true;
      gpu.arch = node.arch;
      gpu.compute_units = gpu.compute_units.value_or(0) + node.compute_units;
      gpu.dies = gpu.dies.value_or(0) + node.dies;
      if (node.render_minor >= 0) {
        gpu.device_files.push_back(fmt::format("dev/dri/renderD{}", node.render_minor));
      }
      for (const KfdLink& link : node.links) {
        constexpr int xgmi = 11;
        const auto peer = pci_of_node.find(link.node_to);
        if (link.type != xgmi || peer == pci_of_node.end() || peer->second == gpu.pci) continue;
        // Every partition lists the links of its socket.
        if (!peers.insert(peer->second).second) continue;
        PeerLink found{"xgmi", peer->second, true, std::nullopt};
        if (link.max_bandwidth_mbs > 0) found.bytes_per_second = link.max_bandwidth_mbs * 1e6;
        gpu.links.push_back(std::move(found));
      }
    }
    // KFD does not tell which GPU a withheld node belongs to. If it withholds none, it may simply
    // not know this GPU.
    if (!gpu.visible && topology.withheld > 0) gpu.visible = false;
  }
}

/// Returns the PCI address in the resolved folder of a DRM card: ".../0000:c1:00.0/drm/card1".
std::string pci_of_card(const Machine& machine, const fs::path& card) {
  const std::string address = machine.resolve(card / "device").filename().string();
  const bool shaped = address.size() >= 12 && address[4] == ':' && address[7] == ':';
  return shaped ? address : std::string();
}

}  // namespace

std::string amd_name(std::string_view device_id) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 19> names = {
      {{"738c", "AMD Instinct MI100"},
       {"7408", "AMD Instinct MI250X"},
       {"740c", "AMD Instinct MI250X / MI250"},
       {"740f", "AMD Instinct MI210"},
       {"74a0", "AMD Instinct MI300A"},
       {"74a1", "AMD Instinct MI300X"},
       {"74a2", "AMD Instinct MI308X"},
       {"74a5", "AMD Instinct MI325X"},
       {"74a8", "AMD Instinct MI308X HF"},
       {"74a9", "AMD Instinct MI300X HF"},
       {"74b5", "AMD Instinct MI300X VF"},
       {"74b6", "AMD Instinct MI308X VF"},
       {"74b9", "AMD Instinct MI325X VF"},
       {"74bc", "AMD Instinct MI308X VF"},
       {"74bd", "AMD Instinct MI300X HF"},
       {"75a0", "AMD Instinct MI350X"},
       {"75a3", "AMD Instinct MI355X"},
       {"75b0", "AMD Instinct MI350X VF"},
       {"75b3", "AMD Instinct MI355X VF"}}};
  for (const auto& [id, name] : names) {
    if (id == device_id) return std::string(name);
  }
  return {};
}

std::vector<Gpu> read_amd_gpus(const Machine& machine) {
  constexpr const char* cards = "sys/class/drm";
  std::vector<Gpu> gpus;
  std::set<std::string> seen;
  for (const std::string& name : machine.list(cards)) {
    if (!name.starts_with("card") || name.find('-') != std::string::npos) continue;
    const fs::path card = fs::path(cards) / name;
    if (read_fact(machine, card / "device/vendor") != "0x1002") continue;
    const std::string pci = pci_of_card(machine, card);
    if (pci.empty() || !seen.insert(pci).second) continue;
    gpus.push_back(read_device(machine, fs::path("sys/bus/pci/devices") / pci, pci));
  }
  // DRM numbers cards in the order they appeared; HIP orders them by PCI address.
  std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.pci < b.pci; });
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].index = static_cast<int>(i);
  add_kfd(machine, gpus);
  return gpus;
}

}  // namespace assay
