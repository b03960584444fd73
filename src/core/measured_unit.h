// Units as programs write them, and what they are in SI.
#pragma once

#include <optional>
#include <string_view>

namespace assay {

struct MeasuredUnit {
  std::string_view si;  ///< "bytes/s", "s", "FLOP/s", "tokens/s", "1/s", "bytes", "Hz", "W", "1"
  double factor = 1;    ///< multiply by it
};

/// "GB/s" is 1e9 bytes/s, "GiB/s" 2^30, "Gb/s" and "Gbit/s" an eighth of 1e9; "ms", "us", "TFLOPS",
/// "tok/s", "req/s", "%". Empty if it is none of those.
std::optional<MeasuredUnit> measured_unit(std::string_view text);

}  // namespace assay
