// "did you mean ...?" for mistyped names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Levenshtein distance with swaps: single-character insertions, deletions, substitutions, and
/// swaps of adjacent characters, each counting one.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// "; did you mean \"size\"?" for the nearest of `names` if it is close enough to be a typo, or
/// else the first that begins with the word, or else empty.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace assay
