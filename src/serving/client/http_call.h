// Sends a request beside the load, to check that a server responds and to read models and metrics.
#pragma once

#include <string>
#include <string_view>

#include "serving/client/endpoint.h"

namespace assay {

struct HttpReply {
  int status = 0;
  std::string body;  ///< at most 64 MiB
};

/// Waits for the reply. `fields`: lines "Name: value\r\n". Error: unavailable, naming the URL and
/// what failed; also if there is no reply within `seconds`.
Result<HttpReply> http_call(const Endpoint& endpoint, std::string_view method,
                            std::string_view path, std::string_view fields, std::string_view body,
                            double seconds);

}  // namespace assay
