// JSON from untrusted files.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/json_fwd.h"
#include "core/result.h"

namespace assay {

/// Each member of an object is compared with all before it: this many take half a second.
constexpr std::size_t most_json_members = 20'000;

/// Error: usage, if it is not JSON, nested deeper than 64 levels (copying a value walks its nesting
/// on the stack), or has an object of more than `most_members`.
Result<Json> parse_json(std::string_view text, std::size_t most_members = most_json_members);

}  // namespace assay
