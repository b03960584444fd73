// Clang's offload bundles: code objects for several targets in one blob, plain or compressed.
#pragma once

#include <string>
#include <vector>

#include "machine/code_object/bytes.h"

namespace assay::occupancy {

/// The code for one target.
struct BundleEntry {
  std::string target;  ///< "hipv4-amdgcn-amd-amdhsa--gfx942"
  std::string code;
};

struct Bundle {
  std::vector<BundleEntry> entries;  ///< the non-empty ones; the host's mostly is empty
  std::uint64_t bytes = 0;           ///< size of the bundle in the file
};

/// Returns whether `file` begins with a bundle.
bool is_bundle(Bytes file);
/// Reads the bundle at the start of `file`. Error: usage if it is damaged, or if its version or
/// compression is not supported; as decompress_zlib() (decompress.h).
Result<Bundle> read_bundle(Bytes file);

}  // namespace assay::occupancy
