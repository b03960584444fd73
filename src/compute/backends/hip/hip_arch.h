// Facts about AMD architectures that HIP's attributes lack.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::hip {

/// Returns the bytes of the memory-side cache (MALL, Infinity Cache) of a whole device; 0 if it has
/// none or is unknown. HIP reports the L2 of one XCD instead, 64 times too little on an MI300X.
/// `arch` may include features ("gfx942:sramecc+:xnack-").
std::uint64_t memory_side_cache_bytes(std::string_view arch);

}  // namespace assay::hip
