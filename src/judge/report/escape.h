// Makes text from results harmless in each format. Nothing in a result is trusted, names included.
#pragma once

#include <string>
#include <string_view>

namespace assay::report {

/// Returns valid UTF-8: invalid bytes become U+FFFD; control characters (line ends, too), Unicode's
/// line separators and characters that change the direction of writing become spaces.
std::string clean_text(std::string_view text);
/// Escapes text for HTML and quoted attributes.
std::string escape_html(std::string_view text);
/// Escapes text for one line of Markdown, also inside a table.
std::string escape_markdown(std::string_view text);
/// Returns one CSV field (RFC 4180). Text that a spreadsheet would take for a formula gets an
/// apostrophe.
std::string escape_csv(std::string_view text);
/// Escapes JSON for use inside a <script> element: the result contains no "<", ">", "&", U+2028 or
/// U+2029.
std::string escape_script(std::string_view json);

}  // namespace assay::report
