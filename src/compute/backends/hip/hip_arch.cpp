#include "compute/backends/hip/hip_arch.h"

#include <utility>

namespace assay::hip {

std::uint64_t memory_side_cache_bytes(std::string_view arch) {
  // AMD's architecture pages: CDNA3/4 in the ROCm documentation, RDNA in the data sheets.
  constexpr std::pair<std::string_view, unsigned> mebibytes[] = {
      {"gfx942", 256}, {"gfx950", 256}, {"gfx1030", 128}, {"gfx1031", 96},
      {"gfx1032", 32}, {"gfx1100", 96}, {"gfx1101", 64},  {"gfx1102", 32},
      {"gfx1151", 32}, {"gfx1200", 32}, {"gfx1201", 64}};
  const std::string_view name = arch.substr(0, arch.find(':'));
  for (const auto& [known, size] : mebibytes) {
    if (name == known) return std::uint64_t{size} << 20;
  }
  return 0;
}

}  // namespace assay::hip
