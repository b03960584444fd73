// Checks of one environment variable.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "machine/doctor/advice.h"

namespace assay {

/// What the variable is set to; none if it is not set.
std::optional<std::string> variable(const CheckContext& context, std::string_view name);

/// UNKNOWN where nobody recorded the variables.
std::optional<Finding> variables_not_known(const CheckContext& context, const Advice& advice);

/// PASS if `name` is set to `value`, else WARN; the mending command exports it. For variables that
/// help where `context` says so: the caller decides.
Finding judge_variable(const CheckContext& context, std::string_view name, std::string_view value,
                       const Advice& advice);

/// What judge_variable found: "NAME not set", "NAME=0".
std::string variable_text(const CheckContext& context, std::string_view name);

}  // namespace assay
