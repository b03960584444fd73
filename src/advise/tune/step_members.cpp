#include "advise/tune/step_members.h"

#include <cmath>

#include "core/json.h"

namespace assay {

Result<std::string> text_member(const Json& step, const char* name, const Error& refusal) {
  const auto found = step.find(name);
  if (found == step.end() || !found->is_string()) return refusal;
  return found->get<std::string>();
}

Result<double> number_member(const Json& step, const char* name, const Error& refusal) {
  const auto found = step.find(name);
  if (found == step.end() || !found->is_number()) return refusal;
  const double value = found->get<double>();
  if (!std::isfinite(value) || value < 0) return refusal;
  return value;
}

}  // namespace assay
