// Parses and formats sizes, durations and rates. Sizes have IEC prefixes, which are powers of 1024;
// rates and times have decimal ones. Parsing allows no spaces and no sign; its error quotes the
// text and says what is allowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

/// Parses a whole number, alone or with B, KiB, MiB, GiB or TiB, to bytes: "64MiB". Error: usage,
/// also beyond 64 bits.
Result<std::uint64_t> parse_size(std::string_view text);
/// Parses a whole decimal number: "4096". Error: usage, also beyond 64 bits.
Result<std::uint64_t> parse_integer(std::string_view text);
/// Parses a number above 0 with ms, s, min or h, at most 24000h, to seconds: "1.5h" gives 5400.
/// Error: usage.
Result<double> parse_duration(std::string_view text);

/// Formats exactly, in the largest IEC unit that divides the size: "1GiB", "1536KiB", "1000", "0".
/// parse_size() returns the same size again.
std::string format_size(std::uint64_t bytes);
/// Formats for reading, in the largest IEC unit that is not above the size, with one decimal unless
/// it is whole: "139.8 GiB", "2 GiB", "512 B".
std::string format_memory(std::uint64_t bytes);
/// Formats as format_significant() with the prefix of scale_for(): (4.213e12, "FLOP/s") gives
/// "4.213 TFLOP/s".
std::string format_rate(double value, std::string_view unit);
/// Formats as format_rate(), but without a prefix from 1 s on: "2.310 us", "1.200 s", "5000 s".
std::string format_seconds(double seconds);
/// Formats the value of a metric that is stored in `unit`: "s" by format_seconds(), "1" (a share)
/// by format_significant(), "$" as "$0.4213", "bytes" by format_memory() if they fit in 64 bits,
/// and all else by format_rate(), with "B/s" for "bytes/s".
std::string format_in(double value, std::string_view unit);
/// Formats an elapsed time, rounded up to whole seconds: "0:07", "12:30", "1:02:03". A negative
/// time is "0:00".
std::string format_clock(double seconds);
/// Formats a frequency by format_rate(): "2.100 GHz".
std::string format_frequency(double hertz);

/// A decimal prefix, so that several numbers can share it.
struct Scale {
  double factor = 1;             ///< divide the value by it
  std::string_view prefix = "";  ///< "n", "u", "m", none, "k", "M", "G", "T" or "P"
};
/// Returns the prefix with which `value`, rounded to four significant digits, has 1 to 3 digits
/// before the point, or else the nearest one; none for 0, NaN and infinity.
Scale scale_for(double value);
/// Formats a share from 0 to 1 as a percentage, rounded to a whole number: "35%". A share above 0
/// and below half a percent is "<1%", because "0%" means none.
std::string format_share(double share);
/// Formats a relative difference as a percentage with two significant digits, or more where the
/// digits before the point are more: 0.048 gives "4.8%", -0.05 "-5%", and 1.234 gives "123%".
std::string format_percent(double difference);
/// Formats four significant digits, or all before the point if these are more: 4.213 gives "4.213",
/// 0.0042134 "0.004213", 12345.6 "12346", and 0 "0".
std::string format_significant(double value);

}  // namespace assay
