// What the windows of `rdma` hold before a run, and what they must hold after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/benchmarks/rdma_link.h"
#include "measure/benchmarks/rdma_settings.h"

namespace assay {

/// Writes rank `rank`'s pattern where it sends from, and `poison` where it receives.
Status write_window(const RdmaSettings& settings, const RdmaLink& link, std::uint64_t seed,
                    int rank, std::uint8_t poison, Stream& stream);

struct WindowCheck {
  std::uint64_t checked = 0, wrong = 0;  ///< bytes
  std::string first_wrong;               ///< empty: none
};
/// Holds every byte of where this rank receives against rank `peer`'s pattern, and what lies
/// between messages against `poison`. A ping-pong of writes uses the first place of the first queue
/// and ends in `last_value`.
Result<WindowCheck> check_window(const RdmaSettings& settings, const RdmaLink& link,
                                 std::uint64_t seed, int peer, std::uint8_t poison,
                                 std::uint8_t last_value, Stream& stream);

}  // namespace assay
