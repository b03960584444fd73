// Checked access to members of a tuning journal's steps, since a journal may be damaged.
#pragma once

#include <string>

#include "core/json_fwd.h"
#include "core/result.h"

namespace assay {

/// Returns the string member `name` of a step. Error: `refusal` if there is none.
Result<std::string> text_member(const Json& step, const char* name, const Error& refusal);
/// Returns the number member `name` of a step, which is finite and not negative. Error: `refusal`
/// if there is none.
Result<double> number_member(const Json& step, const char* name, const Error& refusal);

}  // namespace assay
