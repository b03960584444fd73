// Instinct GPUs as amdgpu and KFD present them in sysfs.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "machines/host.h"

namespace assay {

struct AmdModel {
  std::string device_id, name;
  int gfx_target = 90402;
  int dies = 8, units_per_die = 38;
  std::uint64_t memory_bytes = 0;
  int power_watts = 750, clock_mhz = 2100;
  int metrics_version = 5;  ///< gpu_metrics 1.x
};
inline const AmdModel mi300x_model = {
    "74a1", "AMD Instinct MI300X", 90402, 8, 38, 206141652992, 750, 2100, 5};
inline const AmdModel mi355x_model = {
    "75a3", "AMD Instinct MI355X", 90500, 8, 32, 309220868096, 1400, 2400, 8};

/// A gpu_metrics table of version 1.`version`; fields that are not given read "not supported".
class MetricsTable {
 public:
  explicit MetricsTable(int version) : version_(version) {
    const int sizes[] = {288, 360, 1664, 2208, 3872};
    bytes_.assign(static_cast<std::size_t>(sizes[version - 4]), '\xff');
    put<std::uint16_t>(0, static_cast<std::uint16_t>(bytes_.size()));
    bytes_[2] = 1;
    bytes_[3] = static_cast<char>(version);
  }
  MetricsTable& clocks(int mhz, int slow_die = -1, int slow_mhz = 0) {
    const std::size_t offsets[] = {240, 312, 264, 296, 296};
    for (int die = 0; die < 8; ++die) {
      put(offsets[version_ - 4] + static_cast<std::size_t>(2 * die),
          static_cast<std::uint16_t>(die == slow_die ? slow_mhz : mhz));
    }
    return *this;
  }
  /// Firmware cycles, and in how many of them the socket's heat limited the clock; since
  /// version 1.6.
  MetricsTable& throttled(std::uint32_t cycles, std::uint32_t hot) {
    const std::size_t start = version_ == 6 ? 32 : 40;
    put<std::uint32_t>(start, cycles);
    put<std::uint32_t>(start + 4, 0);           // prochot
    put<std::uint32_t>(start + 8, cycles / 2);  // power limit
    put<std::uint32_t>(start + 12, hot);
    put<std::uint32_t>(start + 16, 0);
    put<std::uint32_t>(start + 20, 0);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  void put(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }
  int version_;
  std::string bytes_;
};

struct AmdNode {
  AmdModel model = mi300x_model;
  int gpus = 8;
  std::string compute_partition = "SPX", memory_partition = "NPS1";
  int partitions = 1;  ///< per GPU
  int busy_percent = 0;
  std::string mec_firmware = "0x000000b1";
};

inline std::string amd_folder(int gpu) {
  return Slot{gpu, 0}.folder();
}

inline void add_amd_gpu(MemoryMachine& machine, int gpu, const AmdNode& node) {
  const Slot slot{gpu, 0};
  const std::string device = slot.folder() + "/";
  const AmdModel& model = node.model;
  const auto write = [&](const char* file, const std::string& text) {
    machine.write(device + file, text + "\n");
  };
  write("vendor", "0x1002");
  write("device", "0x" + model.device_id);
  write("class", "0x120000");
  write("product_name", model.name);
  write("unique_id", fmt::format("abcdef{:010x}", gpu));
  write("serial_number", fmt::format("69231800{:04d}", gpu));
  write("vbios_version", "113-M3000100-102");
  write("numa_node", fmt::format("{}", slot.socket()));
  write("current_link_speed", "32.0 GT/s PCIe");
  write("max_link_speed", "32.0 GT/s PCIe");
  write("current_link_width", "16");
  write("max_link_width", "16");
  write("mem_info_vram_total", fmt::format("{}", model.memory_bytes));
  write("mem_info_vis_vram_total", fmt::format("{}", model.memory_bytes));
  write("gpu_busy_percent", fmt::format("{}", node.busy_percent));
  write("pcie_replay_count", "0");
  write("current_compute_partition", node.compute_partition);
  write("available_compute_partition", "SPX, DPX, QPX, CPX");
  write("current_memory_partition", node.memory_partition);
  write("power_dpm_force_performance_level", "auto");
  write("pp_dpm_sclk", fmt::format("0: 500Mhz\n1: {}Mhz *", model.clock_mhz));
  write("fw_version/mec_fw_version", node.mec_firmware);
  write("ras/umc_err_count", "ue: 0\nce: 0");
  write("ras/gfx_err_count", "ue: 0\nce: 0");
  write("hwmon/hwmon3/name", "amdgpu");
  write("hwmon/hwmon3/power1_input", "140000000");
  for (const char* cap : {"power1_cap", "power1_cap_default", "power1_cap_max"}) {
    write((std::string("hwmon/hwmon3/") + cap).c_str(), fmt::format("{}000000", model.power_watts));
  }
  machine.write(device + "gpu_metrics",
                MetricsTable(model.metrics_version).clocks(model.clock_mhz).bytes());
  machine.link(device + "driver", "sys/bus/pci/drivers/amdgpu");
  const std::string card = fmt::format("card{}", gpu + 1);
  machine.link("sys/class/drm/" + card, slot.folder() + "/drm/" + card);
  machine.link(slot.folder() + "/drm/" + card + "/device", slot.folder());
}

/// Two CPU nodes, then a node per partition; a GPU's first partition has the GPU's links.
inline void add_kfd(MemoryMachine& machine, const AmdNode& node) {
  const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
  machine.write(nodes + "0/properties", "cpu_cores_count 96\nsimd_count 0\n");
  machine.write(nodes + "1/properties", "cpu_cores_count 96\nsimd_count 0\n");
  const auto node_of = [&](int gpu, int partition) {
    return 2 + gpu * node.partitions + partition;
  };
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    for (int partition = 0; partition < node.partitions; ++partition) {
      const std::string folder = fmt::format("{}{}/", nodes, node_of(gpu, partition));
      const int dies = node.model.dies / node.partitions;
      const int minor = 128 + gpu * node.partitions + partition;
      machine.write(folder + "properties",
                    fmt::format("simd_count {}\nsimd_per_cu 4\nnum_xcc {}\ngfx_target_version {}\n"
                                "domain 0\nlocation_id {}\ndrm_render_minor {}\nunique_id 12345{}\n"
                                "hive_id 77\n",
                                4 * dies * node.model.units_per_die, dies, node.model.gfx_target,
                                (Slot{gpu, 0}.bus() + 3) << 8 | partition, minor, gpu));
      machine.device(fmt::format("dev/dri/renderD{}", minor));
      if (partition > 0) continue;
      for (int peer = 0, link = 0; peer < node.gpus; ++peer) {
        if (peer == gpu) continue;
        machine.write(
            fmt::format("{}io_links/{}/properties", folder, link++),
            fmt::format("type 11\nnode_to {}\nweight 15\nmax_bandwidth 64000\n", node_of(peer, 0)));
      }
    }
  }
  machine.device("dev/kfd");
}

inline void add_amd_node(MemoryMachine& machine, const AmdNode& node, const Bridges& bridges) {
  machine.write("sys/bus/pci/drivers/amdgpu/uevent", "");
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    add_slot(machine, Slot{gpu, 0}, bridges);
    add_amd_gpu(machine, gpu, node);
  }
  add_kfd(machine, node);
}

}  // namespace assay
