// The host's monotonic clock in nanoseconds, the clock of recorded timelines.
#pragma once

#include <chrono>
#include <cstdint>

namespace assay {

/// Returns the ns since an origin that all processes of this host share until it restarts.
inline std::int64_t host_time() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace assay
