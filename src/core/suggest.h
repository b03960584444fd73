// "did you mean ...?" for mistyped names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Returns the Levenshtein distance with swaps: insertions, deletions and substitutions of single
/// characters, and swaps of adjacent characters, count one each.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns " (did you mean \"size\"?)" for the nearest of `names`, if `word` may be a typo of it:
/// about one edit for three letters. Otherwise takes the first name that begins with `word`, if
/// that has 3 letters or more. Returns an empty text if there is none.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace assay
