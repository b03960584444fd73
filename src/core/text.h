// These functions trim text, compare it without case, parse its numbers and dates and find
// surrogates. The parsers of core/units.h return an error that says what is allowed; those here
// return nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

/// Returns `text` without white space at both ends: spaces, tabs, line ends, vertical tabs and form
/// feeds.
std::string_view trim(std::string_view text);

/// Returns whether both texts are equal if capital and small ASCII letters count as the same. All
/// other bytes must be identical.
bool is_equal_without_case(std::string_view a, std::string_view b);

/// Returns whether `text` is one or more of the digits 0 to 9.
bool is_digits(std::string_view text);

/// Parses "10887.4", "4e-07", "-1", "+2". Returns nullopt unless the whole text is one decimal
/// number in the range of double, which 1e-400 is not; white space around it is not allowed.
std::optional<double> parse_number(std::string_view text);
/// Parses "1073741824". Returns nullopt unless the whole text is digits and the number fits 64
/// bits.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// Returns whether `text` dates a source: a day of the calendar, "2026-08-03", a month, "2026-08",
/// or "undated".
bool is_date_of_source(std::string_view text);

/// Returns whether `text` holds an encoded surrogate, which UTF-8 forbids. All else in `text` must
/// be valid UTF-8. RapidJSON rejects such bytes in its input, but produces them from the escape of
/// a low surrogate that no high one precedes.
bool has_surrogate(std::string_view text);

}  // namespace assay
