// Makes text of files, servers and other machines safe to print. It could otherwise move the
// cursor, hide lines, reverse their order, or be endless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// Replaces control characters (including escape sequences and C1) and characters that change the
/// direction of writing by "\u001b", which has the same meaning inside JSON's strings. Line ends
/// and tabs are kept; bytes that are not UTF-8 become U+FFFD.
std::string without_controls(std::string_view text);

/// Makes a part of one line safe: line ends and tabs are replaced, too, and text longer than `most`
/// bytes (at least 3) is cut and ends in "...".
std::string shown_line(std::string_view text, std::size_t most);

}  // namespace assay
