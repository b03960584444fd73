// What the doctor reads of PCI devices: why a file is unreadable, and what bridges do with
// peer-to-peer traffic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "machine/system/pci.h"

namespace assay {

/// Why a file of the device is unreadable. Leaves out the device's folder, so that equal reasons of
/// several GPUs are merged: "gpu_metrics: does not exist".
std::string why_not(const Machine& machine, std::string_view address, const std::string& file);

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
