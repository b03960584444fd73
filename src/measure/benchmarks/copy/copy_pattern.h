// A pattern that proves that a copy arrived completely: every 8-byte word differs from all others.
#pragma once

#include <cstdint>
#include <memory>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

/// Word `i` of the pattern, by the same formula as in src/compute/kernels/copy_check_pattern.cu.
std::uint64_t pattern_word(std::uint64_t i, std::uint64_t seed);
/// Fills `n` words of host memory with the pattern.
void fill_pattern(std::uint64_t* words, std::uint64_t n, std::uint64_t seed);
/// Number of words that differ from the pattern.
std::uint64_t count_wrong(const std::uint64_t* words, std::uint64_t n, std::uint64_t seed);

/// Fills and checks the pattern in a device's memory, using kernels.
class DevicePattern {
 public:
  /// `device` must outlive the object. Error: as from Device::build().
  static Result<DevicePattern> create(Device& device);

  /// Queues filling `n` words. Error: as from Stream::launch().
  Status fill(Stream& stream, std::uint64_t* words, std::uint64_t n, std::uint64_t seed) const;
  /// Waits for `stream` and returns the number of words that differ from the pattern. Error: as
  /// from the device's calls.
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
