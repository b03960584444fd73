// Parses JSON from untrusted files.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/json_fwd.h"
#include "core/result.h"

namespace assay {

/// Limit for nesting: parsing and copying a value recurse along it.
constexpr std::size_t most_json_levels = 64;

/// Limit for members of an object. Each is compared with all before it, so this many take half a
/// second.
constexpr std::size_t most_json_members = 20'000;

/// Parses one value, which may have white space around it and a byte order mark before it. Whole
/// numbers that fit 64 bits stay exact; the last of equal keys wins. Error: usage, if it is not
/// JSON (NaN and Infinity are not) or not UTF-8, has a number beyond the range of double, is nested
/// deeper than `most_json_levels`, or has an object of more than `most_members`.
Result<Json> parse_json(std::string_view text, std::size_t most_members = most_json_members);

}  // namespace assay
