// The devices and what they report about themselves: the MI300Xs of tests/machines.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/emulator.h"

namespace mi300x::runtime {

/// Configured by the environment: MI300X_DEVICES (8 GPUs), MI300X_MODE ("SPX/NPS1" or "CPX/NPS4"),
/// MI300X_VM (1: virtual functions), MI300X_MEMORY (bytes of a device instead of the real size),
/// MI300X_UNITS (compute units of a device instead of the real number, so that kernels that fill it
/// end sooner).
struct Machine {
  int gpus = 8;
  int partitions = 1;  ///< per GPU; each is a device
  bool virtual_functions = false;
  std::uint64_t memory_bytes = 0;  ///< of a device
  int units = 304;                 ///< of a device

  static Machine from_environment();
  int devices() const { return gpus * partitions; }
  int gpu_of(int device) const { return device / partitions; }

  std::string name() const;
  Chip chip(int device) const;
  int pci_bus(int device) const;
  std::string pci_address(int device) const;
  /// Returns 16 characters; "XX" alone means that there is no identity.
  std::string uuid(int device) const;
};

constexpr const char* arch_name = "gfx942:sramecc+:xnack-";
constexpr int clock_khz = 2'100'000, memory_clock_khz = 1'300'000, memory_bus_bits = 8192;
constexpr int l2_bytes = 4 << 20;        // of one XCD; the Infinity Cache is not reported
constexpr int wall_clock_khz = 100'000;  // of s_memrealtime
constexpr int threads_per_unit = 2048, threads_per_block = 1024, shared_bytes = 65536;

/// Bytes per second of the model, never measured.
constexpr double host_link_rate = 55e9, peer_link_rate = 48e9;

}  // namespace mi300x::runtime
