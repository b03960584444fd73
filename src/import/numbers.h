// Numbers and units as other programs write them, read strictly: what is not wholly a number is
// none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// "10887.4", "4e-07", "-1": all of the text, finite. Else empty.
std::optional<double> parse_number(std::string_view text);
/// "1073741824": all of the text, digits only. Else empty.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// What a number in a tool's unit is multiplied with to be in SI.
struct UnitScale {
  double factor = 1;
  std::string_view unit;  ///< "bytes/s", "s", "FLOP/s", "bytes"
};
/// "GB/s", "MBytes/sec", "Gb/sec", "GiB/s", "us", "ms", "TFLOPS": prefixes are decimal unless
/// they are IEC's; a small b is a bit. Empty if the unit is not known.
std::optional<UnitScale> parse_unit(std::string_view text);

/// value * factor, divided instead where the factor is a fraction: 35.20 us is 3.52e-05 s then, as
/// 1e-6 itself is no exact number.
double to_si(double value, double factor);

/// "64 MB", "1KB", "512M" to bytes, as tools write powers of two with letters. Empty if it is none.
std::optional<std::uint64_t> parse_binary_size(std::string_view text);

}  // namespace assay
