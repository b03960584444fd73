// Makes text of files, servers and other machines safe to print. It could otherwise move the
// cursor, hide lines, reverse their order, or be endless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// Replaces control characters (C0 such as escape, and C1), Unicode's line separators, and
/// characters that change the direction of writing. Each becomes its code, such as "\u001b", which
/// has the same meaning inside JSON's strings. "\n", "\r\n" and tabs are kept; each byte that is
/// not UTF-8 becomes U+FFFD.
std::string without_controls(std::string_view text);

/// Makes a part of one line safe: line ends and tabs are replaced, too. The result has at most
/// `most` bytes (at least 3); if it was cut, it ends in "...".
std::string shown_line(std::string_view text, std::size_t most);

}  // namespace assay
