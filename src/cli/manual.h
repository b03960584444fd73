// Everything the user can read about the commands, made from their descriptions: help, man page,
// docs/cli.md. Pure functions.
#pragma once

#include <string>

#include "cli/command.h"

namespace assay::cli {

/// What assay does, its commands, exit statuses.
std::string help_overview(const Style& style);
std::string help_of(const Command& command, const Style& style);
/// roff for man(1).
std::string man_page();
/// docs/cli.md; a test holds the file to it.
std::string markdown_manual();

}  // namespace assay::cli
