// Text as it stands between the quotes in JSON.
#pragma once

#include <string>
#include <string_view>

namespace assay::server {

/// Appends `text`, which is UTF-8.
void append_escaped(std::string_view text, std::string& out);

}  // namespace assay::server
