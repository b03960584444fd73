// Finds where a PCI device is attached in the machine.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

/// Returns "sys/bus/pci/devices/0000:3b:00.0".
std::filesystem::path pci_folder(std::string_view address);

/// Returns whether the text has the form "0000:3b:00.0".
bool is_pci_address(std::string_view text);

/// Returns the bridges from the root port down to the one above `address`; empty for a device on a
/// root bus or one that is not visible.
std::vector<std::string> bridges_above(const Machine& machine, std::string_view address);

/// Returns the number of bridges that two devices have in common; more means closer. A shared root
/// port counts 1, a shared switch adds more.
int shared_bridges(const Machine& machine, std::string_view a, std::string_view b);

/// Two devices with at least this many common bridges are behind one switch. One is not enough:
/// devices on different cards can share a root port.
constexpr int pci_switch_depth = 2;

}  // namespace assay
