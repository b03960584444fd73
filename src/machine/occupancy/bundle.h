// Clang's offload bundles: code objects for several targets in one blob, plain or compressed.
#pragma once

#include <string>
#include <vector>

#include "machine/occupancy/bytes.h"

namespace assay::occupancy {

struct BundleEntry {
  std::string target;  ///< "hipv4-amdgcn-amd-amdhsa--gfx942"
  std::string code;
};

struct Bundle {
  std::vector<BundleEntry> entries;  ///< without empty ones, as the host's usually is
  std::uint64_t bytes = 0;           ///< of the file that it took
};

bool is_bundle(Bytes file);
/// At the beginning of `file`. Error: usage.
Result<Bundle> read_bundle(Bytes file);

}  // namespace assay::occupancy
