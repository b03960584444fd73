#include "machine/system/kfd.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* nodes_folder = "sys/class/kfd/kfd/topology/nodes";

/// Parses "key value" lines; values that are not whole numbers are left out.
std::map<std::string, long long> parse_properties(const std::string& text) {
  std::map<std::string, long long> properties;
  std::istringstream lines(text);
  for (std::string key, value, line; std::getline(lines, line);) {
    std::istringstream words(line);
    unsigned long long number = 0;
    if (!(words >> key >> value)) continue;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc{} && end == value.data() + value.size()) {
      properties[key] = static_cast<long long>(number);
    }
  }
  return properties;
}

/// Returns folder names that are numbers, in numeric order.
std::vector<int> numbered(const Machine& machine, const fs::path& folder) {
  std::vector<int> numbers;
  for (const std::string& name : machine.list(folder)) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc{} && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// Converts location_id, which is bus<<8 | device<<3 | function; partitions differ in the function.
std::string pci_address(long long domain, long long location) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", domain & 0xffff, (location >> 8) & 0xff,
                     (location >> 3) & 0x1f);
}

std::vector<KfdLink> read_links(const Machine& machine, const fs::path& node) {
  std::vector<KfdLink> links;
  // Newer kernels list links between GPUs separately from those to CPUs.
  for (const char* folder : {"io_links", "p2p_links"}) {
    for (const int number : numbered(machine, node / folder)) {
      auto properties = parse_properties(
          machine.read(node / folder / std::to_string(number) / "properties").text);
      if (properties.empty()) continue;
      links.push_back({static_cast<int>(properties["type"]),
                       static_cast<int>(properties["node_to"]),
                       static_cast<int>(properties["weight"]),
                       static_cast<double>(properties["max_bandwidth"])});
    }
  }
  return links;
}

}  // namespace

std::string arch_of_gfx_target(long long version) {
  if (version <= 0 || version > 999999) return {};
  return fmt::format("gfx{}{}{:x}", version / 10000, version / 100 % 100, version % 100);
}

KfdTopology read_kfd_topology(const Machine& machine) {
  KfdTopology topology;
  const fs::path folder = nodes_folder;
  for (const int number : numbered(machine, folder)) {
    const fs::path node = folder / std::to_string(number);
    const std::string text = machine.read(node / "properties").text;
    if (text.empty()) ++topology.withheld;  // EPERM; in a copied folder the file is empty
    auto properties = parse_properties(text);
    if (properties["simd_count"] <= 0) continue;  // a CPU, or a GPU this process may not see
    KfdNode found;
    found.node = number;
    found.arch = arch_of_gfx_target(properties["gfx_target_version"]);
    found.pci = pci_address(properties["domain"], properties["location_id"]);
    const auto minor = properties.find("drm_render_minor");
    found.render_minor = minor == properties.end() ? -1 : static_cast<int>(minor->second);
    const long long simds_per_unit = properties["simd_per_cu"];
    if (simds_per_unit > 0) {
      found.compute_units = static_cast<int>(properties["simd_count"] / simds_per_unit);
    }
    found.dies = static_cast<int>(properties["num_xcc"]);
    found.hive = std::to_string(properties["hive_id"]);
    found.links = read_links(machine, node);
    topology.nodes.push_back(std::move(found));
  }
  return topology;
}

std::vector<KfdNode> read_kfd_nodes(const Machine& machine) {
  return read_kfd_topology(machine).nodes;
}

}  // namespace assay
