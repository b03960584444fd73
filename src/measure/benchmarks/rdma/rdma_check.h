// The contents of the windows of `rdma` before a run, and the expected contents after it. A window
// is the memory that the other rank's adapter may access; RdmaLayout says where messages lie in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/benchmarks/rdma/rdma_link.h"
#include "measure/benchmarks/rdma/rdma_settings.h"

namespace assay {

/// Writes rank `rank`'s pattern to its send area and `poison` to its receive area. Error: that of
/// copying to device memory.
Status write_window(const RdmaSettings& settings, const RdmaLink& link, std::uint64_t seed,
                    int rank, std::uint8_t poison, Stream& stream);

struct WindowCheck {
  std::uint64_t checked = 0, wrong = 0;  ///< bytes
  std::string first_wrong;               ///< empty: none
};
/// Compares every byte of this rank's receive area with rank `peer`'s pattern, and the gaps between
/// messages with `poison`. A ping-pong uses only the first slot; in one of writes the message's
/// last byte must be `last_value`. Error: that of copying from device memory.
Result<WindowCheck> check_window(const RdmaSettings& settings, const RdmaLink& link,
                                 std::uint64_t seed, int peer, std::uint8_t poison,
                                 std::uint8_t last_value, Stream& stream);

}  // namespace assay
