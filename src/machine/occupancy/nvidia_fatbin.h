// NVIDIA's fat binaries: cubins and PTX for several architectures in one blob.
#pragma once

#include <string>
#include <vector>

#include "machine/occupancy/bytes.h"

namespace assay::occupancy {

struct FatbinEntry {
  bool ptx = false;   ///< else a cubin
  unsigned arch = 0;  ///< 90 for sm_90
  std::string code;
};

struct Fatbin {
  std::vector<FatbinEntry> entries;
  std::uint64_t bytes = 0;  ///< of the file that it took
};

bool is_nvidia_fatbin(Bytes file);
/// At the beginning of `file`. Error: usage.
Result<Fatbin> read_nvidia_fatbin(Bytes file);

}  // namespace assay::occupancy
