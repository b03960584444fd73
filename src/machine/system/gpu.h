// An accelerator as its driver's files or management library describe it, whether or not a runtime
// can open it: identity, partition, limits, links, health. AMD GPUs are read from sysfs and KFD
// (amd_gpus.h); NVIDIA GPUs come from the probe "nvidia". A fact that is empty is unknown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "machine/system/machine.h"

namespace assay {

struct PcieLink {
  /// Gigatransfers/s per lane: 32 is generation 5. Idle GPUs may lower their current speed.
  std::optional<double> speed_gts, speed_max_gts;
  std::optional<int> width, width_max;  ///< lanes
};

/// A link to another accelerator, or to a switch that connects them all.
struct PeerLink {
  std::string type;  ///< "xgmi" or "nvlink"
  std::string peer;  ///< PCI address of the other GPU; "switch"; empty: unknown
  bool up = true;
  std::optional<double> bytes_per_second;  ///< one direction, as reported by the driver
};

/// Values that change from moment to moment and are never part of a fingerprint.
struct GpuState {
  std::vector<double> engine_clocks_hz;  ///< one per XCD, one on NVIDIA
  std::optional<double> power_watts, temperature_celsius;
  std::string throttle_reasons;  ///< comma-separated, in the driver's terms; empty: none or unknown
  std::optional<long long> correctable_errors,
      uncorrectable_errors;                ///< memory and engines, since reset
  std::optional<long long> retired_pages;  ///< bad pages, remapped rows
  std::optional<long long> pcie_replays;
  std::optional<int> utilisation_percent;
};

struct Gpu {
  std::string vendor;        ///< "amd", "nvidia"
  int index = 0;             ///< in the driver's order; for AMD by PCI address, as HIP's
  std::string name;          ///< "AMD Instinct MI300X"
  std::string arch;          ///< "gfx942", "sm_90"
  std::string pci;           ///< "0000:3b:00.0", lower case
  std::string device_id;     ///< PCI device id, "74a1"
  std::string uuid, serial;  ///< identify one piece of hardware: masked in captures
  std::string vbios, driver;
  std::map<std::string, std::string> firmware;  ///< keyed by block, "sdma": "24"
  std::optional<int> compute_units;             ///< CUs or SMs of the whole socket
  std::optional<int> dies;                      ///< XCDs
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> visible_memory_bytes;  ///< reachable by the CPU through the BAR
  std::string compute_partition, memory_partition;    ///< "SPX", "NPS1"; "MIG" or ""
  std::string compute_partitions, memory_partitions;  ///< the modes it supports: "SPX, DPX, CPX"
  std::optional<bool> ecc;
  std::optional<double> power_cap_watts, power_cap_default_watts, power_cap_max_watts;
  std::optional<double> clock_max_hz;
  std::string performance_level;  ///< power_dpm_force_performance_level, "auto"
  PcieLink pcie;
  std::optional<int> numa_node;  ///< -1: the firmware does not specify it
  std::string local_cpus;        ///< "0-47,96-143"
  bool virtual_function = false;
  /// Whether the compute driver lets this process use it; in a container, sysfs shows all GPUs of
  /// the host. Empty: unknown.
  std::optional<bool> visible;
  std::vector<std::string> device_files;  ///< "dev/dri/renderD128"
  std::vector<PeerLink> links;
  GpuState state;
};

/// Returns every accelerator of the machine, AMD before NVIDIA, each in its driver's order.
std::vector<Gpu> read_gpus(const Machine& machine);

/// Names a GPU by its index and PCI address: "GPU 3 (0000:3b:00.0)".
std::string label(const Gpu& gpu);

/// Writes all facts. `with_state` adds the "state" object and the current PCIe speed. Empty facts
/// are left out, and so are `virtual_function` if false and `visible` unless false.
Json to_json(const Gpu& gpu, bool with_state);
/// Does not trust its input: fields of the wrong type are left out.
Gpu gpu_from_json(const Json& json);

}  // namespace assay
