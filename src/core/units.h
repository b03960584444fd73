// Sizes, durations and rates as people write and read them: sizes in powers of two with IEC
// prefixes, rates decimal. Every parse error says what is allowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

/// Parses "4KiB", "64MiB", "2101346304" to bytes. Error: usage, quoting the text.
Result<std::uint64_t> parse_size(std::string_view text);
/// Parses "4096" to 4096. Error: usage, quoting the text.
Result<std::uint64_t> parse_integer(std::string_view text);
/// Parses "60s", "500ms", "2min", "1h" to seconds, above zero. Error: usage, quoting the text.
Result<double> parse_duration(std::string_view text);

/// Formats exactly, in the largest IEC unit that divides the size: "1GiB", "1536KiB", "1000". It is
/// the inverse of parse_size().
std::string format_size(std::uint64_t bytes);
/// Formats rounded, for reading: "139.8 GiB".
std::string format_memory(std::uint64_t bytes);
/// Formats four significant digits with a decimal prefix: (4.213e12, "FLOP/s") gives "4.213
/// TFLOP/s".
std::string format_rate(double value, std::string_view unit);
/// Formats four significant digits: "2.310 us", "1.200 s".
std::string format_seconds(double seconds);
/// Formats a value in the unit in which a metric is stored: rates and counts as format_rate, "s" as
/// format_seconds, "1" as the bare number, "bytes" as format_memory.
std::string format_in(double value, std::string_view unit);
/// Formats elapsed times for the screen: "0:07", "12:30", "1:02:03".
std::string format_clock(double seconds);
/// Formats "2.100 GHz".
std::string format_frequency(double hertz);

/// A decimal prefix that suits `value`, so that several numbers can share it.
struct Scale {
  double factor = 1;             ///< divide the value by it
  std::string_view prefix = "";  ///< "G"
};
Scale scale_for(double value);
/// Formats a share from 0 to 1 as a percentage: "35%". Below half a percent it is "<1%", to differ
/// from nothing.
std::string format_share(double share);
/// Formats a difference as a percentage, 0.048 as "4.8%": two digits, but always all before the
/// point.
std::string format_percent(double difference);
/// Formats four significant digits, never in exponent form: 4213, 81.23, 0.004213.
std::string format_significant(double value);

}  // namespace assay
