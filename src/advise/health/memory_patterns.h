// Writes patterns into free memory and reads them back: zeros, alternating bits, addresses and
// hashes, each also with all bits inverted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "advise/health/checksums.h"
#include "compute/device/device.h"

namespace assay::health {

inline constexpr unsigned memory_pattern_count = 8;
/// Kernels of a run: the first pattern is written, and each is then read and replaced once on the
/// way up and once on the way down.
inline constexpr unsigned kernels_of_patterns = 2 * memory_pattern_count - 1;

/// The words that a pass found wrong, by the first of them.
struct WrongWord {
  unsigned pattern = 0;       ///< the pattern that it did not keep, from 0
  std::uint64_t count = 0;    ///< words of 8 bytes that did not keep it
  std::uint64_t offset = 0;   ///< of the first of them in the memory under test, in bytes
  std::uint64_t address = 0;  ///< the same as a virtual address on the device
  std::uint64_t expected = 0, found = 0;
};

class MemoryPatterns {
 public:
  /// `device` must outlive the result.
  static Result<MemoryPatterns> create(Device& device);

  /// A fault for tests: bits that are inverted in a word after a pattern was written.
  struct Planted {
    unsigned pattern = 0;                ///< from 0
    std::uint64_t offset = 0, mask = 0;  ///< of the word, in bytes; the bits to invert
    bool stays = false;                  ///< also in replays
  };
  struct Outcome {
    std::uint64_t bytes = 0;  ///< of memory under test
    double read = 0;          ///< bytes read and compared by a run without a wrong word
    double moved = 0;         ///< bytes read and written by it
    double seconds = 0;       ///< without replays
    std::optional<WrongWord> wrong;
    int replays = 0, replayed = 0;  ///< how many there were, and how many found a wrong word again
  };
  /// Takes `share` of the memory that is free, at most `most` bytes, or less if free memory lies in
  /// pieces, and frees it at the end. March: each pattern is read and replaced by the next in one
  /// pass, then the patterns follow in
  /// the reverse order. The run ends with the pass that finds a wrong word; the march is then
  /// replayed `replays` times. Error: exhausted if there is no free memory; as the device's calls.
  Result<Outcome> run(double share, std::uint64_t most, std::uint64_t seed, int replays,
                      const std::optional<Planted>& planted);

  /// Returns the numbers of the multiprocessors that have read and written patterns.
  Result<std::set<unsigned>> multiprocessors() const {
    return checksums_.multiprocessors(*stream_);
  }

  /// Returns the word of a pattern at an index, as the kernel writes it.
  static std::uint64_t word(std::uint64_t index, unsigned pattern, std::uint64_t seed);

 private:
  MemoryPatterns(Device& device, std::unique_ptr<Stream> stream, std::unique_ptr<Program> program,
                 Kernel& write, Kernel& march, Checksums checksums)
      : device_(&device),
        stream_(std::move(stream)),
        program_(std::move(program)),
        write_(&write),
        march_(&march),
        checksums_(std::move(checksums)) {}
  Result<std::optional<WrongWord>> march(const Buffer& memory, const Buffer& found,
                                         std::uint64_t seed, const std::optional<Planted>& planted);

  Device* device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Program> program_;
  Kernel* write_;
  Kernel* march_;
  Checksums checksums_;
};

}  // namespace assay::health
