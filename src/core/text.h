// White space, case, numbers and surrogates in other programs' text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

/// Returns `text` without white space at both ends.
std::string_view trim(std::string_view text);

/// Returns whether both are the same letters, capital or small. Only ASCII letters have both forms.
bool is_equal_without_case(std::string_view a, std::string_view b);

/// Returns whether `text` is one or more of the digits 0 to 9.
bool is_digits(std::string_view text);

/// Parses "10887.4", "4e-07", "-1". The whole text must be a finite number; else returns nullopt.
std::optional<double> parse_number(std::string_view text);
/// Parses "1073741824". The whole text must be digits; else returns nullopt.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// Returns whether text that is UTF-8 otherwise holds a surrogate, which is invalid there.
/// RapidJSON checks the bytes of its input, but writes the escape of a low surrogate without its
/// high one.
bool has_surrogate(std::string_view text);

}  // namespace assay
