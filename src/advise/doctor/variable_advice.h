// Helpers for checks of one environment variable.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "advise/doctor/advice.h"

namespace assay {

/// Returns the variable's value as it was recorded, which may be a hash (recorded_value() of
/// machine/system/recordable_settings.h); nullopt if it was not set, or variables were not
/// recorded.
std::optional<std::string> variable(const CheckContext& context, std::string_view name);

/// Returns a finding UNKNOWN if the variables were not recorded; otherwise empty.
std::optional<Finding> variables_not_known(const CheckContext& context, const Advice& advice);

/// Returns UNKNOWN if the variables were not recorded, PASS if `name` has exactly the text `value`,
/// otherwise WARN with a command that exports it. That command and "NAME=VALUE" replace the fix and
/// the wanted text of `advice`. `name` must be a variable that recorded_value() does not hash,
/// because a hash never passes. The caller decides from `context` whether the variable helps on
/// this machine.
Finding judge_variable(const CheckContext& context, std::string_view name, std::string_view value,
                       const Advice& advice);

/// Returns the state of a variable as text: "NAME=0", or "NAME not set", also if the variables were
/// not recorded.
std::string variable_text(const CheckContext& context, std::string_view name);

}  // namespace assay
