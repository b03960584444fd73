// JSON from files that nobody vouches for.
#pragma once

#include <string_view>

#include "core/json.h"
#include "core/result.h"

namespace assay {

/// Error: usage, if it is no JSON, or nested deeper than 64 levels: copying a value walks its
/// nesting on the stack.
Result<Json> parse_json(std::string_view text);

}  // namespace assay
