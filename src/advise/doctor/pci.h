// Shared by the doctor's checks of PCI devices: why a file of a device has no text, and how a
// bridge controls traffic between devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "machine/system/pci.h"

namespace assay {

/// Returns why `file`, in the sysfs folder of the device at `address` ("0000:3b:00.0"), has no text
/// for read_setting() (advice.h); empty if it has. The reason leaves out the folder, so that equal
/// reasons of several GPUs are merged: "gpu_metrics: does not exist".
std::string why_not(const Machine& machine, std::string_view address, const std::string& file);

/// What could be read of a device's access control services (ACS). Their control register decides
/// whether a bridge lets traffic between two devices behind it take the direct path.
enum class AcsState {
  absent,      ///< no ACS is among the extended capabilities that could be read
  known,       ///< the bits were read
  needs_root,  ///< only the first 64 bytes of the configuration could be read
  unreadable,  ///< not even these could be read
};
struct AcsControl {
  AcsState state = AcsState::unreadable;
  std::uint16_t bits = 0;  ///< the ACS control register; 0 unless `known`
  /// Returns whether peer-to-peer requests or completions are redirected to the root complex; lspci
  /// shows ReqRedir+ or CmpltRedir+.
  bool redirects() const { return (bits & 0x000c) != 0; }
  /// Returns whether the sender of a request is checked; lspci shows SrcValid+.
  bool validates() const { return (bits & 0x0001) != 0; }
};
/// Finds the ACS control register by walking the extended capabilities in a device's configuration
/// space. `configuration` has the bytes of the device's sysfs file `config`; it is empty if the
/// file cannot be read.
AcsControl acs_control(std::string_view configuration);

}  // namespace assay
