// Small helpers for line-oriented output of compilers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::occupancy {

/// Removes and returns the first line of `text`, without the line break.
std::string_view next_line(std::string_view& text);
/// Removes and returns the first word of `text`, up to a blank; empty at the end.
std::string_view next_word(std::string_view& text);
/// The decimal digits at the start of `text`; nullopt if there are none or the number is above
/// 2^32.
std::optional<std::uint64_t> leading_number(std::string_view text);
/// The number after the first `label` in `text`: 16 for ("Used 16 registers", "Used ").
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view label);

}  // namespace assay::occupancy
