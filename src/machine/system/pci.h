// Where a PCI device sits in the machine.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

/// "sys/bus/pci/devices/0000:3b:00.0"
std::filesystem::path pci_folder(std::string_view address);

/// "0000:3b:00.0"
bool is_pci_address(std::string_view text);

/// The bridges from the root port down to the one above `address`; empty for a device on a root
/// bus or one that is not to be seen.
std::vector<std::string> bridges_above(const Machine& machine, std::string_view address);

/// How many bridges two devices have in common: the more, the nearer. A common root port counts 1,
/// a common switch more.
int shared_bridges(const Machine& machine, std::string_view a, std::string_view b);

/// From so many common bridges on two devices are behind one switch: a root port alone is shared by
/// what lies on several cards, too.
constexpr int pci_switch_depth = 2;

}  // namespace assay
