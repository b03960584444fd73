// Parsers of option values that several commands share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "core/result.h"
#include "results/record/cost.h"

namespace assay::cli {

/// The parts between separators, which may be empty.
std::vector<std::string> split(const std::string& text, char separator);
/// Parses a number from `least` to `most`. Error: usage, naming the option and what is allowed.
Result<std::int64_t> whole_number(std::string_view option, const std::string& text,
                                  std::uint64_t least, std::uint64_t most);
/// The number of pairs of runs in a proof. It must be even, so that each side comes first equally
/// often. Error: usage.
Result<std::size_t> proof_pairs(const std::string& text);

/// Checks that two options do not write the same file, whatever each calls it; an empty path stands
/// for an option that is not given. Error: usage, naming both options and the first path.
Status check_two_files(std::string_view option, const std::string& path,
                       std::string_view other_option, const std::string& other_path);

/// --price of commands that show tokens/s.
Option price_option();
/// Empty: no price was given. Error: usage.
Result<std::optional<Price>> given_price(const Arguments& arguments);

}  // namespace assay::cli
