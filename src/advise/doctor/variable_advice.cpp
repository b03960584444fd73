#include "advise/doctor/variable_advice.h"

#include <fmt/format.h>

namespace assay {

std::optional<std::string> variable(const CheckContext& context, std::string_view name) {
  const Variables& variables = context.machine.variables();
  const auto set = variables.find(name);
  return set == variables.end() ? std::nullopt : std::optional(set->second);
}

std::string variable_text(const CheckContext& context, std::string_view name) {
  const auto set = variable(context, name);
  return set ? fmt::format("{}={}", name, *set) : fmt::format("{} not set", name);
}

std::optional<Finding> variables_not_known(const CheckContext& context, const Advice& advice) {
  if (context.variables_known) return std::nullopt;
  return unknown(advice, "this folder does not say which variables were set");
}

Finding judge_variable(const CheckContext& context, std::string_view name, std::string_view value,
                       const Advice& advice) {
  if (auto finding = variables_not_known(context, advice)) return *finding;
  Finding finding = variable(context, name) == value ? passed(advice, variable_text(context, name))
                                                     : warned(advice, variable_text(context, name));
  finding.wanted = fmt::format("{}={}", name, value);
  if (finding.judgement != Judgement::pass) finding.fix = fmt::format("export {}={}", name, value);
  return finding;
}

}  // namespace assay
