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

struct WrongWord {
  unsigned pattern = 0;      ///< that it did not keep
  std::uint64_t count = 0;   ///< words that did not keep it
  std::uint64_t offset = 0;  ///< bytes, of the first one
  std::uint64_t address = 0;
  std::uint64_t expected = 0, found = 0;
};

class MemoryPatterns {
 public:
  static Result<MemoryPatterns> create(Device& device);

  /// Takes `share` of the memory that is free, at most `most` bytes, and frees it at the end.
  /// March: each pattern is read and replaced by the next in one pass, then read again in the
  /// reverse order. A word that does not keep one is looked at `replays` more times. `planted`:
  /// bits to invert in the word at an offset after pattern `launch` is written, for tests.
  struct Planted {
    unsigned pattern = 0;
    std::uint64_t offset = 0, mask = 0;
    bool stays = false;
  };
  struct Outcome {
    std::uint64_t bytes = 0;  ///< of memory under test
    double read = 0;          ///< bytes read and compared
    double moved = 0;         ///< bytes read and written
    double seconds = 0;
    std::optional<WrongWord> wrong;
    int replays = 0, replayed = 0;
  };
  Result<Outcome> run(double share, std::uint64_t most, std::uint64_t seed, int replays,
                      const std::optional<Planted>& planted);

  /// The numbers of the multiprocessors that have read and written patterns.
  Result<std::set<unsigned>> multiprocessors() const {
    return checksums_.multiprocessors(*stream_);
  }

  /// The word of a pattern at an index, as the kernel writes it.
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
