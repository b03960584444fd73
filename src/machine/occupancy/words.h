// Small helpers for line-oriented text of compilers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::occupancy {

/// Takes the first line off `text`, without its end.
std::string_view next_line(std::string_view& text);
std::string_view trim(std::string_view text);
/// Takes the first word off `text`, as blanks separate them; empty at the end.
std::string_view next_word(std::string_view& text);
/// The decimal digits `text` begins with; empty optional if it does not begin with one or the
/// number is above 2^32.
std::optional<std::uint64_t> leading_number(std::string_view text);
/// The number after `label` wherever that occurs first: ("Used 16 registers", "Used ") is 16.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view label);

}  // namespace assay::occupancy
