// Text on a screen of so many columns: its width, and its lines where it does not fit. Pure
// functions; colours take no room.
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

/// `text` in lines of at most `width` columns, parted at spaces. Words that are longer stick out or
/// are broken, after a comma or the like if there is one. Every line has its colour.
std::vector<std::string> lines_of(std::string_view text, std::size_t width, LongWords long_words);
/// `text`, which stands in column `indent`, continued on lines with that indent, words whole.
/// `width` 0 means unlimited.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);
/// Help or a document for a screen too narrow for its lines as they are written: paragraphs and
/// items are joined and parted anew, the meanings of indented names too. Code and examples stay.
std::string reflowed(std::string_view text, std::size_t width);

}  // namespace assay::cli
