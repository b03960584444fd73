// The launch geometry of the memory kernels: block size, loads in flight, grid, cache hints. The
// fastest geometry depends on device, operation and size, so a search finds it once, and it is
// cached.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compute/device/device.h"

namespace assay {

struct MemoryGeometry {
  unsigned block = 256;                    ///< threads per block
  unsigned unroll = 4;                     ///< packs in flight per thread
  unsigned pack_bytes = 16;                ///< bytes of one load of one thread
  unsigned blocks_per_multiprocessor = 0;  ///< 0: as many blocks as there are tiles
  unsigned hints = 0;                      ///< bits: 1: stores bypass the caches, 2: loads do

  bool operator==(const MemoryGeometry&) const = default;
};

/// The geometry as text: "block=256 unroll=4 pack=16 grid=all hints=stores".
std::string describe(const MemoryGeometry& geometry);

/// The macros that compile src/compute/kernels/memory.cu for this geometry.
ProgramSource program_source(const MemoryGeometry& geometry);

/// The launch shape for arrays of `array_bytes` bytes.
LaunchShape launch_shape(const MemoryGeometry& geometry, const DeviceFacts& facts,
                         std::uint64_t array_bytes);

/// Every geometry worth trying on this device. On a CPU the compiler decides about packs and
/// unrolling, so only the kind of store differs.
std::vector<MemoryGeometry> candidate_geometries(const DeviceFacts& facts);

}  // namespace assay
