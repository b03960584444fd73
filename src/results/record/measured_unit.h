// Units as programs write them, and their SI equivalents.
#pragma once

#include <optional>
#include <string_view>

#include "core/result.h"

namespace assay {

struct MeasuredUnit {
  std::string_view si;  ///< "bytes/s", "s", "FLOP/s", "tokens/s", "1/s", "bytes", "Hz", "W", "1"
  double factor = 1;    ///< to_si() converts a value in the written unit with it
};

/// Returns value * factor; where the factor is below 1, divides by its reciprocal, rounded to a
/// whole number. So 35.20 us gives 3.52e-05 s, although 1e-6 has no exact binary representation.
double to_si(double value, double factor);

/// Parses a unit. "GB/s" and "GBytes/sec" are 1e9 bytes/s, "GiB/s" is 2^30, "Gb/s" and "Gbit/s" are
/// an eighth of 1e9: prefixes are decimal unless they are IEC's, and a small b is a bit. It also
/// accepts "ms", "us", "TFLOPS", "tok/s", "req/s", "%" and the like (measured_unit.cpp lists all).
/// Empty for other texts.
std::optional<MeasuredUnit> measured_unit(std::string_view text);

/// Parses a unit in a file of limits or references: GPUs, lanes, GT/s or samples/s, which stay as
/// they are, or one of measured_unit(). Error: usage, with units that are allowed.
Result<MeasuredUnit> written_unit(std::string_view text);

}  // namespace assay
