// Fields of requests that change what is generated and that assay's own server does not do. Clients
// are told, since a reply that ignores them would not be the one that was asked for.
#pragma once

#include <string_view>

namespace assay::server {

/// Whether a field `name` whose value is or holds `value` asks for something that is not done.
/// `value`: a text, or a number, true or false as JSON writes them.
bool is_undone(std::string_view name, std::string_view value);

}  // namespace assay::server
