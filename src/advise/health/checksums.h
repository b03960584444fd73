// Checksums of blocks of memory, computed on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "compute/device/device.h"
#include "compute/kernels/checksum_block.h"

namespace assay::health {

class Checksums {
 public:
  static Result<Checksums> create(Device& device);

  /// Queues the checksums of `count` blocks: sums[i] will be that of blocks[i]. `sums` and `blocks`
  /// are device memory.
  Status queue(Stream& stream, std::uint64_t* sums, const ChecksumBlock* blocks,
               std::size_t count) const;
  /// Queues the inversion of the bits of `mask` in the 8 bytes at `word`, which is aligned to them.
  Status flip(Stream& stream, void* word, std::uint64_t mask) const;

  /// Returns the numbers of the multiprocessors that have run blocks of queue(), or of kernels that
  /// got blocks_run(). Waits for the stream.
  Result<std::set<unsigned>> multiprocessors(Stream& stream) const;
  /// Returns the device's counters of blocks, one for each multiprocessor, which kernels increment.
  std::uint32_t* blocks_run() const { return blocks_run_.as<std::uint32_t>(); }

  /// Returns the checksum that queue() gives `bytes` bytes at `data`, computed on the host.
  static std::uint64_t of(const void* data, std::size_t bytes);
  /// Returns the hash of one word at an index: a bijection of words for each index.
  static std::uint64_t of_word(std::uint64_t word, std::uint64_t index);
  /// Returns one checksum of several values in their order.
  static std::uint64_t combined(std::span<const std::uint64_t> sums);

 private:
  Checksums(std::unique_ptr<Program> program, Kernel& sums, Kernel& flip, unsigned blocks,
            Buffer blocks_run)
      : program_(std::move(program)),
        sums_(&sums),
        flip_(&flip),
        blocks_(blocks),
        blocks_run_(std::move(blocks_run)) {}

  std::unique_ptr<Program> program_;
  Kernel* sums_;
  Kernel* flip_;
  unsigned blocks_;    // of a grid that fills the device
  Buffer blocks_run_;  // by each multiprocessor, as u32
};

}  // namespace assay::health
