#include "runtime/machine.h"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace mi300x::runtime {
namespace {

constexpr std::uint64_t gpu_memory_bytes = 206141652992;
constexpr int gpu_units = 304, gpu_dies = 8;
constexpr double gpu_memory_rate = 5.3e12;

std::string text_of(const char* variable, const std::string& otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? text : otherwise;
}

}  // namespace

Machine Machine::from_environment() {
  Machine machine;
  machine.gpus = std::stoi(text_of("MI300X_DEVICES", "8"));
  const std::string mode = text_of("MI300X_MODE", "SPX/NPS1");
  if (mode != "SPX/NPS1" && mode != "CPX/NPS4") {
    throw std::invalid_argument("MI300X_MODE is " + mode + ", not SPX/NPS1 or CPX/NPS4");
  }
  machine.partitions = mode == "CPX/NPS4" ? 8 : 1;
  machine.virtual_functions = text_of("MI300X_VM", "0") == "1";
  const std::uint64_t whole = gpu_memory_bytes / static_cast<std::uint64_t>(machine.partitions);
  machine.memory_bytes = std::stoull(text_of("MI300X_MEMORY", std::to_string(whole)));
  const std::string units = std::to_string(gpu_units / machine.partitions);
  machine.units = std::stoi(text_of("MI300X_UNITS", units));
  return machine;
}

std::string Machine::name() const {
  return virtual_functions ? "AMD Instinct MI300X VF" : "AMD Instinct MI300X";
}

Chip Machine::chip(int device) const {
  Chip chip;
  chip.arch = "gfx942";
  chip.compute_units = units;
  chip.dies = gpu_dies / partitions;
  chip.clock_hz = 1e3 * clock_khz;
  chip.memory_bytes_per_second = gpu_memory_rate / partitions;
  chip.shared_bytes_per_unit = shared_bytes;
  chip.device = device;
  return chip;
}

int Machine::pci_bus(int device) const {
  return 0x13 + 0x10 * gpu_of(device);
}

/// The partitions of a GPU share one address, like those of a real GPU.
std::string Machine::pci_address(int device) const {
  return fmt::format("0000:{:02x}:00.0", pci_bus(device));
}

std::string Machine::uuid(int device) const {
  if (virtual_functions) return "XX";
  return fmt::format("abcdef{:010x}", gpu_of(device));
}

}  // namespace mi300x::runtime
