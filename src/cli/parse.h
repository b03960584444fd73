// Parses argv according to the commands' descriptions.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "core/result.h"

namespace assay::cli {

/// The first word names the command, the rest are its options and positionals. Error: usage, one
/// line that names the option or word and what is allowed.
struct Parsed {
  const Command* command = nullptr;  ///< null: only --help or --version at the top
  Arguments arguments;
};
Result<Parsed> parse(const std::vector<std::string>& words);

}  // namespace assay::cli
