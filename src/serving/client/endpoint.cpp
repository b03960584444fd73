#include "serving/client/endpoint.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>

#include "core/tcp.h"

namespace assay {
namespace {

namespace asio = boost::asio;

/// Where Linux distributions keep their trusted certificates. OpenSSL knows only the path of the
/// distribution it was built on.
constexpr std::array<const char*, 4> trusted_files = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

Result<std::shared_ptr<asio::ssl::context>> make_tls(const Url& url, bool insecure) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  boost::system::error_code error;
  if (insecure) {
    context->set_verify_mode(asio::ssl::verify_none, error);
    return context;
  }
  context->set_default_verify_paths(error);
  for (const char* file : trusted_files) {
    if (::access(file, R_OK) == 0) context->load_verify_file(file, error);
  }
  context->set_verify_mode(asio::ssl::verify_peer, error);
  if (error) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{}: TLS cannot be set up: {}", text_of(url), error.message())};
  }
  return context;
}

}  // namespace

Result<Endpoint> find_endpoint(const Url& url, bool insecure, double seconds) {
  Endpoint endpoint;
  endpoint.url = url;
  auto connected = connect_to(url.host, url.port, seconds);
  if (!connected) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} cannot be reached: {}", text_of(url), connected.error().message)};
  }
  socklen_t length = static_cast<socklen_t>(endpoint.address.capacity());
  if (::getpeername(connected->number(), endpoint.address.data(), &length) != 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} closed the connection at once", text_of(url))};
  }
  endpoint.address.resize(length);
  if (url.tls) endpoint.tls = TRY(make_tls(url, insecure));
  return endpoint;
}

}  // namespace assay
