// The pattern that proves that a copy arrived whole: every 8-byte word of it differs.
#pragma once

#include <cstdint>
#include <memory>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

/// Word `i` of the pattern; the same formula as in src/compute/kernels/pattern.cu.
std::uint64_t pattern_word(std::uint64_t i, std::uint64_t seed);
/// Fills `n` words of host memory.
void fill_pattern(std::uint64_t* words, std::uint64_t n, std::uint64_t seed);
/// Number of words that are not the pattern's.
std::uint64_t count_wrong(const std::uint64_t* words, std::uint64_t n, std::uint64_t seed);

/// The same in a device's memory, by its kernels.
class DevicePattern {
 public:
  /// `device` must outlive it. Error: as Device::build().
  static Result<DevicePattern> create(Device& device);

  /// Queues the filling of `n` words. Error: as Stream::launch().
  Status fill(Stream& stream, std::uint64_t* words, std::uint64_t n, std::uint64_t seed) const;
  /// Waits for `stream`. Error: as the device's calls.
  Result<std::uint64_t> count_wrong(Stream& stream, const std::uint64_t* words, std::uint64_t n,
                                    std::uint64_t seed) const;

 private:
  DevicePattern(Device& device, std::unique_ptr<Program> program, Kernel* fill, Kernel* check)
      : device_(&device), program_(std::move(program)), fill_(fill), check_(check) {}

  Device* device_;
  std::unique_ptr<Program> program_;
  Kernel* fill_;
  Kernel* check_;
};

}  // namespace assay
