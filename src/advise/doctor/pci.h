// What the doctor reads about PCI devices: why a file is unreadable, and what bridges do with
// peer-to-peer traffic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "machine/system/pci.h"

namespace assay {

/// Returns why a file of the device is unreadable. The text leaves out the device's folder, so that
/// equal reasons of several GPUs are merged: "gpu_metrics: does not exist".
std::string why_not(const Machine& machine, std::string_view address, const std::string& file);

/// What could be read of a device's ACS.
enum class AcsState {
  absent,      ///< the device has no ACS
  known,       ///< the bits were read
  needs_root,  ///< only the first 64 bytes of the configuration could be read
  unreadable,  ///< not even these could be read
};
/// The access control services (ACS) of a PCI device, with the bits of their control register.
struct AcsControl {
  AcsState state = AcsState::unreadable;
  std::uint16_t bits = 0;
  bool redirects() const { return (bits & 0x000c) != 0; }  ///< redirects requests or completions
  bool validates() const { return (bits & 0x0001) != 0; }  ///< shown as SrcValid+ by lspci
};
/// Finds the ACS control register by walking the extended capabilities in a device's configuration
/// space, the bytes of its sysfs file `config`.
AcsControl acs_control(std::string_view configuration);

}  // namespace assay
