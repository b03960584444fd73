// Reads NVIDIA's fat binaries. A fat binary is a container that holds cubins and PTX for several
// architectures, as nvcc embeds it in host programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "machine/code_object/bytes.h"

namespace assay::occupancy {

/// The code for one architecture, which the code itself names.
struct FatbinEntry {
  bool ptx = false;  ///< false: a cubin
  /// The cubin's bytes or the PTX's text, decompressed. What is not compressed may end in zero
  /// bytes, which pad it.
  std::string code;
};

struct Fatbin {
  std::vector<FatbinEntry> entries;  ///< in the file's order
  std::uint64_t bytes = 0;           ///< size of the whole container in the file, with its header
};

/// Returns whether `file` begins with the magic number of a fat binary.
bool is_nvidia_fatbin(Bytes file);
/// Reads the fat binary at the start of `file`, for which is_nvidia_fatbin() is true; more may
/// follow it. Entries that are neither cubins nor PTX are skipped. Error: usage if it is damaged;
/// as decompress_zstd() (decompress.h).
Result<Fatbin> read_nvidia_fatbin(Bytes file);

}  // namespace assay::occupancy
