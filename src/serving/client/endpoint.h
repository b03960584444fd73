// An endpoint is a server's resolved address with its TLS settings; all connections share it.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "core/result.h"
#include "serving/client/url.h"

namespace assay {

struct Endpoint {
  Url url;
  boost::asio::ip::tcp::endpoint address;
  std::shared_ptr<boost::asio::ssl::context> tls;  ///< null: plain TCP
};

/// Resolves the host and takes the first of its addresses that accepts a connection, within
/// `seconds`. `insecure`: certificates are not checked. Error: unavailable, naming the URL and what
/// failed.
Result<Endpoint> find_endpoint(const Url& url, bool insecure, double seconds = 10);

}  // namespace assay
