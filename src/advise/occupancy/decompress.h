// Decompresses the code in fat binaries. The size in a file's header limits the output, which is
// allocated as it grows, so a wrong size is harmless. zstd also allocates its window, of at most
// 128 MiB.
#pragma once

#include <cstdint>
#include <string>

#include "machine/code_object/bytes.h"

namespace assay::occupancy {

/// The limit for the decompressed size of all parts of one file together.
constexpr std::uint64_t most_decompressed_bytes = std::uint64_t{256} << 20;

/// While a budget exists, the sizes of all parts that this thread decompresses count together
/// against the limit; otherwise each part has the whole limit. A thread has at most one budget.
class DecompressionBudget {
 public:
  DecompressionBudget();
  ~DecompressionBudget();
  DecompressionBudget(const DecompressionBudget&) = delete;
  DecompressionBudget& operator=(const DecompressionBudget&) = delete;
};

/// Decompresses `data` to exactly `size` bytes. Error: usage if `data` is damaged, has another
/// size, or `size` exceeds what is left of the budget; exhausted if the library finds no memory.
Result<std::string> decompress_zlib(Bytes data, std::uint64_t size);
Result<std::string> decompress_zstd(Bytes data, std::uint64_t size);
/// Decompresses one LZ4 block without a frame header. Error: as decompress_zlib().
Result<std::string> decompress_lz4(Bytes data, std::uint64_t size);

}  // namespace assay::occupancy
