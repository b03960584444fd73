// The compressions that fat binaries use. The claimed size bounds what is produced, and memory
// grows with what really comes out, so that a damaged claim costs nothing.
#pragma once

#include <cstdint>
#include <string>

#include "machine/occupancy/bytes.h"

namespace assay::occupancy {

/// Bytes of all parts of one file together.
constexpr std::uint64_t most_decompressed = std::uint64_t{256} << 20;

/// Counts what the parts of one file, read by this thread, claim to hold, from its making on. Where
/// there is none, each part is counted alone.
class DecompressionBudget {
 public:
  DecompressionBudget();
  ~DecompressionBudget();
  DecompressionBudget(const DecompressionBudget&) = delete;
  DecompressionBudget& operator=(const DecompressionBudget&) = delete;
};

/// Each gives exactly `size` bytes. Error: usage.
Result<std::string> decompress_zlib(Bytes data, std::uint64_t size);
Result<std::string> decompress_zstd(Bytes data, std::uint64_t size);
/// One LZ4 block, which has no header of its own.
Result<std::string> decompress_lz4(Bytes data, std::uint64_t size);

}  // namespace assay::occupancy
