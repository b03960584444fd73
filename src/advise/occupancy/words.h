// Small helpers for line-oriented output of compilers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::occupancy {

/// Removes and returns the first line of `text`, without its "\n".
std::string_view next_line(std::string_view& text);
/// Removes and returns the first word of `text`, up to a space, tab or "\r"; empty at the end.
std::string_view next_word(std::string_view& text);
/// Returns the number that the decimal digits at the start of `text` make; nullopt if there are
/// none or it is above 2^32.
std::optional<std::uint64_t> leading_number(std::string_view text);
/// Returns the leading_number() after the first `label` in `text`: 16 for ("Used 16 registers",
/// "Used "); nullopt without one.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view label);

}  // namespace assay::occupancy
