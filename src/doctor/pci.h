// Where a PCI device sits, and what its bridges do with peer-to-peer traffic.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "system/machine.h"

namespace assay {

/// "sys/bus/pci/devices/0000:3b:00.0"
std::filesystem::path pci_folder(std::string_view address);

/// Why a file of the device cannot be read, without the device's own folder, so that the reasons of
/// several GPUs are one: "gpu_metrics: does not exist".
std::string why_not(const Machine& machine, std::string_view address, const std::string& file);

/// "0000:3b:00.0"
bool is_pci_address(std::string_view text);

/// The bridges from the root port down to the one above `address`; empty for a device on a root
/// bus or one that is not to be seen.
std::vector<std::string> bridges_above(const Machine& machine, std::string_view address);

/// How many bridges two devices have in common: the more, the nearer. A common root port counts 1,
/// a common switch more.
int shared_bridges(const Machine& machine, std::string_view a, std::string_view b);

enum class AcsState { absent, known, needs_root, unreadable };
/// Bits of the control register.
struct AcsControl {
  AcsState state = AcsState::unreadable;
  std::uint16_t bits = 0;
  bool redirects() const { return (bits & 0x000c) != 0; }  ///< requests or completions
  bool validates() const { return (bits & 0x0001) != 0; }  ///< SrcValid+ in lspci
};
/// Walks the extended capabilities in a device's configuration space.
AcsControl acs_control(std::string_view configuration);

}  // namespace assay
