// Command-line parsing shared by `assay compare`, `assay fleet` and `assay report`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "core/result.h"
#include "judge/compare/operands.h"
#include "judge/compare/verdict.h"

namespace assay::cli {

/// Parses "2%" or "0.02" to 0.02, which must be from `least` to `most`. Error: usage, naming the
/// option and what is allowed.
Result<double> parse_share(std::string_view option, const std::string& text, double least,
                           double most);
/// The value of --margin; empty if it is not given. Error: usage.
Result<std::optional<double>> given_margin(const Arguments& arguments);
/// The rule for a verdict on `operands`: the margin given, else the campaign's own, else 2%.
VerdictRule rule_of(const std::optional<double>& margin, const Operands& operands);

/// Returns the pairs to compare, the baseline first: A with B if `words` are two, or the
/// environments of the campaign whose folder is the only word. Error: as read_contrasts()
/// (results/store/campaign_reader.h); usage, if that is no campaign.
Result<std::vector<std::pair<std::string, std::string>>> pairs_of_operands(
    const std::vector<std::string>& words);

}  // namespace assay::cli
