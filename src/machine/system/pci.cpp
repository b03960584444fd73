#include "machine/system/pci.h"

#include <algorithm>
#include <cctype>

namespace assay {

std::filesystem::path pci_folder(std::string_view address) {
  return std::filesystem::path("sys/bus/pci/devices") / address;
}

bool is_pci_address(std::string_view text) {
  constexpr std::string_view shape = "xxxx:xx:xx.x";
  if (text.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool digit = std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
    if (shape[i] == 'x' ? !digit : text[i] != shape[i]) return false;
  }
  return true;
}

std::vector<std::string> bridges_above(const Machine& machine, std::string_view address) {
  std::vector<std::string> bridges;
  for (const std::filesystem::path& part : machine.resolve(pci_folder(address))) {
    if (is_pci_address(part.string())) bridges.push_back(part.string());
  }
  if (!bridges.empty()) bridges.pop_back();  // the device itself
  return bridges;
}

int shared_bridges(const Machine& machine, std::string_view a, std::string_view b) {
  const std::vector<std::string> first = bridges_above(machine, a);
  const std::vector<std::string> second = bridges_above(machine, b);
  const auto differ = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  return static_cast<int>(differ.first - first.begin());
}

}  // namespace assay
