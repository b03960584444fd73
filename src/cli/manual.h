// The documentation of the commands, generated from their descriptions: help, man page,
// docs/cli.md. Pure functions.
#pragma once

#include <string>

#include "cli/command.h"

namespace assay::cli {

/// Returns what assay does, its commands and exit statuses, for a screen of `screen` columns (0:
/// unlimited).
std::string help_overview(std::size_t screen, const Style& style);
/// Returns the text of `assay COMMAND --help`.
std::string help_of(const Command& command, std::size_t screen, const Style& style);
/// roff for man(1).
std::string man_page();
/// docs/cli.md; a test checks the file against it.
std::string markdown_manual();

}  // namespace assay::cli
