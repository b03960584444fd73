// Checks of one environment variable.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "advise/doctor/advice.h"

namespace assay {

/// The variable's value; nullopt if it is not set.
std::optional<std::string> variable(const CheckContext& context, std::string_view name);

/// UNKNOWN if the variables were not recorded.
std::optional<Finding> variables_not_known(const CheckContext& context, const Advice& advice);

/// PASS if `name` is set to `value`, else WARN with a command that exports it. For variables that
/// help only on some machines: the caller decides from `context`.
Finding judge_variable(const CheckContext& context, std::string_view name, std::string_view value,
                       const Advice& advice);

/// What judge_variable found: "NAME not set", "NAME=0".
std::string variable_text(const CheckContext& context, std::string_view name);

}  // namespace assay
