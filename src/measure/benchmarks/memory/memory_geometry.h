// The launch geometry of the memory kernels consists of block size, loads in flight, grid and cache
// hints. The memory benchmark searches for the fastest one for each device, operation, data type
// and size, and keeps it in the ChoiceCache.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compute/device/device.h"

namespace assay {

struct MemoryGeometry {
  unsigned block = 256;      ///< threads per block
  unsigned unroll = 4;       ///< vector loads (packs) in flight per thread
  unsigned pack_bytes = 16;  ///< bytes of one vector load
  /// Upper limit of the blocks per multiprocessor. 0: no limit, so one block for every
  /// block * unroll * pack_bytes bytes.
  unsigned blocks_per_multiprocessor = 0;
  /// Bits that ask the hardware not to keep lines in its caches: 1 for stores, 2 for loads. It is a
  /// hint: NVIDIA's caches only evict such lines first. A CPU has no such loads.
  unsigned hints = 0;

  bool operator==(const MemoryGeometry&) const = default;
};

/// Formats a geometry: "block=256 unroll=4 pack=16 grid=8/mp hints=stores". "grid=all" means that
/// the number of blocks has no limit; hints are none, stores, loads or both.
std::string describe(const MemoryGeometry& geometry);

/// Returns the program src/compute/kernels/memory.cu with the macros UNROLL and PACK_BYTES of this
/// geometry; the other members are arguments of the launch.
ProgramSource program_source(const MemoryGeometry& geometry);

/// Returns the grid and block size for arrays of `array_bytes` bytes each. On a CPU each core gets
/// one block of one thread.
LaunchShape launch_shape(const MemoryGeometry& geometry, const DeviceFacts& facts,
                         std::uint64_t array_bytes);

/// Returns every geometry worth trying on this device. On a CPU the compiler decides about packs
/// and unrolling, so only the hint for stores differs.
std::vector<MemoryGeometry> candidate_geometries(const DeviceFacts& facts);

}  // namespace assay
