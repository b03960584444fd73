// Measures and wraps text for a screen of a given width; colour codes have no width. Pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

/// Columns `text` takes on screen: counts UTF-8 characters, not colour codes.
std::size_t display_width(std::string_view text);
/// Shortens to at most `width` columns by replacing the end with "..."; colours are dropped then.
std::string shorten(std::string_view text, std::size_t width);

enum class LongWords { whole, broken };

/// Wraps `text` at spaces into lines of at most `width` columns. A longer word is left whole or
/// broken, as `long_words` says, preferably after a comma or similar. A colour continues on the
/// next line.
std::vector<std::string> lines_of(std::string_view text, std::size_t width, LongWords long_words);
/// Wraps `text`, whose first line begins in column `indent`, with that indent on the lines after
/// it. Words are never broken. `width` 0 means unlimited; the text has at least 16 columns.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);
/// Wraps a help text or document anew for a screen narrower than its lines: paragraphs, list items
/// and indented names with their meanings. Code and examples stay as they are.
std::string reflowed(std::string_view text, std::size_t width);

}  // namespace assay::cli
