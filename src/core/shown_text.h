// Text of files, servers and other machines, made fit to be shown: it could move the cursor, hide
// lines, reverse their order, or be endless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// Control characters, among them escape sequences and those of C1, and characters that change the
/// direction of writing become "\u001b", which inside JSON's strings means the same as before. Line
/// ends and tabs stay; bytes that are not UTF-8 become U+FFFD.
std::string without_controls(std::string_view text);

/// The same for a part of one line: line ends and tabs do not stay, and what is longer than `most`
/// bytes, at least 3, is cut and ends in "...".
std::string shown_line(std::string_view text, std::size_t most);

}  // namespace assay
