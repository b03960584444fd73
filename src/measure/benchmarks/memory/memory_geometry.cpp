#include "measure/benchmarks/memory/memory_geometry.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace assay {
namespace {

constexpr std::array<std::string_view, 4> hint_names = {"none", "stores", "loads", "both"};

bool is_gpu(const DeviceFacts& facts) {
  return facts.max_threads_per_block > 1;
}

/// CUDA counts blocks, HIP the work items of all blocks.
std::uint64_t most_blocks(const DeviceFacts& facts, unsigned block) {
  return facts.is_amd() ? 0xffffffff / block : 0x7fffffff;
}

}  // namespace

std::string describe(const MemoryGeometry& geometry) {
  const std::string grid = geometry.blocks_per_multiprocessor == 0
                               ? "all"
                               : std::to_string(geometry.blocks_per_multiprocessor) + "/mp";
  return "block=" + std::to_string(geometry.block) + " unroll=" + std::to_string(geometry.unroll) +
         " pack=" + std::to_string(geometry.pack_bytes) + " grid=" + grid +
         " hints=" + std::string(hint_names[geometry.hints & 3]);
}

ProgramSource program_source(const MemoryGeometry& geometry) {
  return {"memory",
          {{"UNROLL", std::to_string(geometry.unroll)},
           {"PACK_BYTES", std::to_string(geometry.pack_bytes)}}};
}

LaunchShape launch_shape(const MemoryGeometry& geometry, const DeviceFacts& facts,
                         std::uint64_t array_bytes) {
  const auto multiprocessors = static_cast<std::uint64_t>(facts.multiprocessors);
  if (!is_gpu(facts)) return {{static_cast<unsigned>(multiprocessors)}, {1}};
  const std::uint64_t tile_bytes =
      std::uint64_t{geometry.block} * geometry.unroll * geometry.pack_bytes;
  std::uint64_t blocks = std::max<std::uint64_t>(1, (array_bytes + tile_bytes - 1) / tile_bytes);
  if (geometry.blocks_per_multiprocessor > 0) {
    blocks = std::min(blocks, multiprocessors * geometry.blocks_per_multiprocessor);
  }
  blocks = std::min(blocks, most_blocks(facts, geometry.block));
  return {{static_cast<unsigned>(blocks)}, {geometry.block}};
}

std::vector<MemoryGeometry> candidate_geometries(const DeviceFacts& facts) {
  std::vector<MemoryGeometry> candidates;
  if (!is_gpu(facts)) {
    for (const unsigned hints : {0u, 1u}) candidates.push_back({1, 4, 16, 1, hints});
    return candidates;
  }
  for (const unsigned unroll : {1u, 2u, 4u, 8u}) {
    for (const unsigned block : {128u, 256u, 512u, 1024u}) {
      for (const unsigned blocks_per_multiprocessor : {0u, 2u, 8u}) {
        if (block * blocks_per_multiprocessor >
            static_cast<unsigned>(facts.max_threads_per_multiprocessor) * 2) {
          continue;
        }
        for (const unsigned hints : {0u, 1u, 2u, 3u}) {
          candidates.push_back({block, unroll, 16, blocks_per_multiprocessor, hints});
        }
      }
    }
  }
  return candidates;
}

}  // namespace assay
