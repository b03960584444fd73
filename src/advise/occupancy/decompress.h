// The compression methods of fat binaries. The claimed size limits the output, and memory grows
// only with the actual output, so a wrong claim is harmless.
#pragma once

#include <cstdint>
#include <string>

#include "machine/code_object/bytes.h"

namespace assay::occupancy {

/// The limit for all parts of one file together.
constexpr std::uint64_t most_decompressed = std::uint64_t{256} << 20;

/// Sums the sizes claimed by the parts of one file that this thread reads during the budget's
/// lifetime. Without one, each part is limited separately.
class DecompressionBudget {
 public:
  DecompressionBudget();
  ~DecompressionBudget();
  DecompressionBudget(const DecompressionBudget&) = delete;
  DecompressionBudget& operator=(const DecompressionBudget&) = delete;
};

/// Decompresses `data` to exactly `size` bytes. Error: usage if `data` is damaged or `size` exceeds
/// the budget; exhausted without memory.
Result<std::string> decompress_zlib(Bytes data, std::uint64_t size);
Result<std::string> decompress_zstd(Bytes data, std::uint64_t size);
/// Decompresses one LZ4 block without a frame header.
Result<std::string> decompress_lz4(Bytes data, std::uint64_t size);

}  // namespace assay::occupancy
