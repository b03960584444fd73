#include "machine/system/nic.h"

#include <fmt/format.h>

#include <charconv>

#include "core/units.h"
#include "machine/system/fact_source.h"
#include "machine/system/pci.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* nics_folder = "sys/class/infiniband";

/// Returns "ACTIVE" for "4: ACTIVE".
std::string state_name(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

/// Returns 400 for "400 Gb/sec (4X NDR)".
std::optional<double> leading_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value <= 0) return std::nullopt;
  return value;
}

Nic read_port(const Machine& machine, const std::string& name, int port) {
  Nic nic;
  nic.name = name;
  nic.port = port;
  const fs::path device = fs::path(nics_folder) / name / "device";
  const std::string address = machine.resolve(device).filename().string();
  if (is_pci_address(address)) nic.pci = address;
  if (const auto node = read_number(machine, device / "numa_node")) {
    nic.numa_node = static_cast<int>(*node);
  }
  const fs::path folder = nic.port_folder();
  nic.state = state_name(read_fact(machine, folder / "state").value_or(""));
  nic.link_layer = read_fact(machine, folder / "link_layer").value_or("");
  nic.gigabits_per_second = leading_number(read_fact(machine, folder / "rate").value_or(""));
  // Bonded and virtual ports list their interface only in the GID table.
  nic.interface = read_fact(machine, folder / "gid_attrs/ndevs/0").value_or("");
  if (nic.interface.empty()) {
    const std::vector<std::string> interfaces = machine.list(device / "net");
    if (!interfaces.empty()) nic.interface = interfaces.front();
  }
  return nic;
}

}  // namespace

fs::path Nic::port_folder() const {
  return fs::path(nics_folder) / name / "ports" / std::to_string(port);
}

std::vector<Nic> read_nics(const Machine& machine) {
  std::vector<Nic> nics;
  for (const std::string& name : machine.list(nics_folder)) {
    for (const std::string& port : machine.list(fs::path(nics_folder) / name / "ports")) {
      if (const auto number = parse_integer(port)) {
        nics.push_back(read_port(machine, name, static_cast<int>(*number)));
      }
    }
  }
  return nics;
}

std::string label(const Nic& nic) {
  return nic.port == 1 ? nic.name : fmt::format("{} port {}", nic.name, nic.port);
}

}  // namespace assay
