// Helpers for checks of one environment variable.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "advise/doctor/advice.h"

namespace assay {

/// The variable's value; nullopt if it is not set.
std::optional<std::string> variable(const CheckContext& context, std::string_view name);

/// A finding UNKNOWN if the variables were not recorded; otherwise empty.
std::optional<Finding> variables_not_known(const CheckContext& context, const Advice& advice);

/// PASS if `name` is set to `value`, otherwise WARN with a command that exports it. The caller
/// decides from `context` whether the variable helps on this machine.
Finding judge_variable(const CheckContext& context, std::string_view name, std::string_view value,
                       const Advice& advice);

/// The state of a variable as text: "NAME not set" or "NAME=0".
std::string variable_text(const CheckContext& context, std::string_view name);

}  // namespace assay
