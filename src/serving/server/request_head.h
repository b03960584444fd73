// What the head of a request says, beyond what Beast's parser checks.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string>

namespace assay::server {

using RequestHead = boost::beast::http::request_header<>;

struct HeadFault {
  int status = 400;
  std::string message;
};

/// Why the request is refused whatever it asks for; empty: it is not. Its length must be beyond
/// doubt, or its body would be taken for the next request, and no web page may have sent it: one of
/// another site says so in `Origin`, and one whose name leads to this machine in `Host`, which
/// matters if the connection came from this machine, `here`.
std::optional<HeadFault> fault_of(const RequestHead& head, bool here);

/// "/v1/models" of "/v1/models?x" and of "http://host/v1/models".
std::string path_of(const RequestHead& head);

/// Its Content-Type says that the body is JSON.
bool is_json(const RequestHead& head);

}  // namespace assay::server
