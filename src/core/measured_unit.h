// Units as programs write them, and what they are in SI.
#pragma once

#include <optional>
#include <string_view>

namespace assay {

struct MeasuredUnit {
  std::string_view si;  ///< "bytes/s", "s", "FLOP/s", "tokens/s", "1/s", "bytes", "Hz", "W", "1"
  double factor = 1;    ///< see to_si()
};

/// value * factor, divided instead where the factor is a fraction: 35.20 us is 3.52e-05 s then, as
/// 1e-6 itself is no exact number.
double to_si(double value, double factor);

/// "GB/s" and "GBytes/sec" are 1e9 bytes/s, "GiB/s" 2^30, "Gb/s" and "Gbit/s" an eighth of 1e9:
/// prefixes are decimal unless they are IEC's, a small b is a bit. "ms", "us", "TFLOPS", "tok/s",
/// "req/s", "%". Empty if it is none of those.
std::optional<MeasuredUnit> measured_unit(std::string_view text);

}  // namespace assay
