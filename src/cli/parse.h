// Parses argv according to the commands' descriptions.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "core/result.h"

namespace assay::cli {

/// The parsed command line.
struct Parsed {
  const Command* command = nullptr;  ///< null: only --help or --version at the top
  Arguments arguments;               ///< with --help, their number is not checked
};
/// Parses argv without the program's name. The first word, or the first two, name the command; the
/// rest are its options and positionals. Error: usage, one line that names the option or word and
/// what is allowed.
Result<Parsed> parse(const std::vector<std::string>& words);

}  // namespace assay::cli
