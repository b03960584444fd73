// A document in Markdown as text for a terminal. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal.h"

namespace assay::cli {

/// Returns the document with aligned tables and bold headings, and links without their targets, for
/// a screen of `width` columns. With width 0, which means that there is no screen, returns it as it
/// is written.
std::string document_text(std::string_view markdown, std::size_t width, const Style& style);

}  // namespace assay::cli
