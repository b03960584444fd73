// NVIDIA's fat binaries: cubins and PTX for several architectures in one blob.
#pragma once

#include <string>
#include <vector>

#include "machine/code_object/bytes.h"

namespace assay::occupancy {

/// The code for one architecture.
struct FatbinEntry {
  bool ptx = false;   ///< false: a cubin
  unsigned arch = 0;  ///< 90 for sm_90
  std::string code;   ///< the cubin's bytes or the PTX's text, decompressed
};

struct Fatbin {
  std::vector<FatbinEntry> entries;
  std::uint64_t bytes = 0;  ///< size of the fat binary in the file
};

/// Returns whether `file` begins with a fat binary.
bool is_nvidia_fatbin(Bytes file);
/// Reads the fat binary at the start of `file`; entries that are neither cubins nor PTX are
/// skipped. Error: usage if it is damaged; as decompress_zstd() (decompress.h).
Result<Fatbin> read_nvidia_fatbin(Bytes file);

}  // namespace assay::occupancy
