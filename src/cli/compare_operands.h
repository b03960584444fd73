// Command-line parsing shared by `assay compare`, `assay fleet` and `assay report`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay::cli {

/// "2%" or "0.02" to 0.02. Error: usage, naming the option and what is allowed.
Result<double> parse_share(std::string_view option, const std::string& text, double least,
                           double most);
/// Parses --margin.
Result<double> parse_margin(const std::string& text);

/// The pairs to compare: A with B, or, for a single word, the environments of that campaign. Error:
/// usage.
Result<std::vector<std::pair<std::string, std::string>>> pairs_of_operands(
    const std::vector<std::string>& words);

}  // namespace assay::cli
