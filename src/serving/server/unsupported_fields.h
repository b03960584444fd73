// Finds fields of requests that would change the generated text but that assay's own server does
// not support. The server answers such a request with HTTP 400, because a reply that ignores the
// field would mislead the client. The simulated server ignores these fields.
#pragma once

#include <string_view>

namespace assay::server {

/// Returns whether the field `name` asks for something unsupported. `value` is the field's value,
/// or one text, number or boolean inside its array or object: an unquoted text, "true", "false", or
/// a number in its shortest form, "1" for 1.0. Unknown names, default values and empty texts give
/// false.
bool is_unsupported(std::string_view name, std::string_view value);

}  // namespace assay::server
