// Says what the head of a request says, beyond what Beast's parser checks.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string>

namespace assay::server {

using RequestHead = boost::beast::http::request_header<>;

/// The HTTP status and the message with which a request is refused.
struct HeadFault {
  int status = 400;
  std::string message;
};

/// Returns why the request is refused regardless of its content; empty if it is not. The length of
/// the body must be unambiguous, or the body could be taken for the next request. No web page may
/// have sent it: a page of another site names that site in `Origin`, and a page whose host name
/// resolves to this machine names it in `Host`. The latter matters if the connection came from this
/// machine (`here`).
std::optional<HeadFault> fault_of(const RequestHead& head, bool here);

/// Returns the path: "/v1/models" of "/v1/models?x" and of "http://host/v1/models".
std::string path_of(const RequestHead& head);

/// Returns whether its Content-Type says that the body is JSON.
bool is_json(const RequestHead& head);

}  // namespace assay::server
