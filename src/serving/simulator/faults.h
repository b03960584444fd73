// Faults that the simulated server makes on purpose, to test how a client handles them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/result.h"

namespace assay::simulator {

enum class Fault {
  none,
  reset,      ///< the connection is reset halfway through the reply
  http500,    ///< refused with an internal error
  http429,    ///< refused with Retry-After
  hang,       ///< a few tokens, then nothing, on an open connection
  utf8,       ///< a two-byte character split over two chunks and two writes
  merged,     ///< several events in one chunk
  split,      ///< one event in ten chunks and ten writes
  nodone,     ///< the stream ends cleanly, but without [DONE]
  nousage,    ///< no usage, even if asked for
  line,       ///< one event of 10 MB
  empty,      ///< complete, but without any token
  cut,        ///< fewer tokens than asked for
  slowclose,  ///< announces that it closes, but takes a second to do so
};
inline constexpr std::size_t fault_count = 14;

/// Returns "none", "reset", ...; "long" for `line` and "short" for `cut`, which C++ reserves.
std::string_view name_of(Fault fault);
/// Returns whether only a streamed reply can have the fault.
bool only_streamed(Fault fault);

/// The share of requests that get each fault.
class FaultPlan {
 public:
  /// Parses "reset=0.01,hang=0.02". Faults without a share divide the rest equally, so "reset" hits
  /// every request. Error: usage, naming what is wrong and what is allowed.
  static Result<FaultPlan> parse(std::string_view text);
  /// The fault of request `number`; deterministic for a seed.
  Fault of(std::uint64_t number, std::uint64_t seed) const;

 private:
  /// One for each fault; `none` has what the others leave.
  std::array<double, fault_count> shares_{};
};

}  // namespace assay::simulator
