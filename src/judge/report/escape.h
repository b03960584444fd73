// Makes text from results harmless in each format. Nothing in a result is trusted, names included.
#pragma once

#include <string>
#include <string_view>

namespace assay::report {

/// Valid UTF-8: invalid bytes become U+FFFD; control characters and those that change the direction
/// of writing become spaces.
std::string clean_text(std::string_view text);
/// For HTML text and quoted attributes.
std::string escape_html(std::string_view text);
/// For one line of Markdown, also inside a table.
std::string escape_markdown(std::string_view text);
/// One CSV field (RFC 4180). Text that a spreadsheet would take for a formula gets an apostrophe.
std::string escape_csv(std::string_view text);
/// JSON text for use inside a <script> element: contains no "<", ">", "&", U+2028 or U+2029.
std::string escape_script(std::string_view json);

}  // namespace assay::report
