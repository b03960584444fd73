#include "cli/compare_operands.h"

#include <fmt/format.h>

#include <charconv>

#include "results/store/campaign_reader.h"

namespace assay::cli {

Result<double> parse_share(std::string_view option, const std::string& text, double least,
                           double most) {
  double value = 0;
  const bool percent = !text.empty() && text.back() == '%';
  const char* end = text.data() + text.size() - (percent ? 1 : 0);
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (percent) value /= 100;
  if (error != std::errc() || stop != end || !(value >= least) || value > most) {
    return Error{ErrorKind::usage, fmt::format("{} \"{}\" is not allowed; allowed: {:g}% to {:g}%",
                                               option, text, 100 * least, 100 * most)};
  }
  return value;
}

Result<std::optional<double>> given_margin(const Arguments& arguments) {
  if (!arguments.has("--margin")) return std::optional<double>();
  constexpr double least = 0.001, most = 0.5;
  return std::optional(TRY(parse_share("--margin", arguments.get("--margin"), least, most)));
}

VerdictRule rule_of(const std::optional<double>& margin, const Operands& operands) {
  VerdictRule rule;
  if (operands.terms) rule.margin = operands.terms->margin;
  if (margin) rule.margin = *margin;
  return rule;
}

Result<std::vector<std::pair<std::string, std::string>>> pairs_of_operands(
    const std::vector<std::string>& words) {
  if (words.size() == 2) {
    return std::vector<std::pair<std::string, std::string>>{{words[0], words[1]}};
  }
  if (!is_campaign(words[0])) {
    return Error{
        ErrorKind::usage,
        fmt::format("{} is not a campaign; give two results, A and B, to compare", words[0])};
  }
  return pairs_of_campaign(words[0]);
}

}  // namespace assay::cli
