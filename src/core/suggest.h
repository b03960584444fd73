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

/// Returns " (did you mean \"size\"?)" for the nearest of `names` if it is close enough to be a
/// typo (about one edit for three letters), else for the first that begins with `word` of 3 or more
/// letters, else an empty text.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace assay
