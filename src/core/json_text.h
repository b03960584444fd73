// JSON from untrusted files.
#pragma once

#include <string_view>

#include "core/json.h"
#include "core/result.h"

namespace assay {

/// Error: usage, if it is not JSON, nested deeper than 64 levels (copying a value walks its nesting
/// on the stack), or has an object of more than 20,000 members (each is compared with all before
/// it).
Result<Json> parse_json(std::string_view text);

}  // namespace assay
