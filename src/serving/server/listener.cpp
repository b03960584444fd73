#include "serving/server/listener.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>

namespace assay::server {

Status Listener::listen(const Tcp::endpoint& endpoint) {
  SystemError error;
  const auto failed = [&](std::string_view what) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot {} {}:{}: {}", what, endpoint.address().to_string(),
                             endpoint.port(), error.message())};
  };
  if (acceptor_.open(endpoint.protocol(), error)) return failed("open a socket for");
  acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
  if (acceptor_.bind(endpoint, error)) return failed("listen on");
  if (acceptor_.listen(asio::socket_base::max_listen_connections, error)) {
    return failed("listen on");
  }
  accept();
  return {};
}

std::uint16_t Listener::port() const {
  SystemError ignored;
  return acceptor_.local_endpoint(ignored).port();
}

void Listener::accept() {
  acceptor_.async_accept([this](const SystemError& error, Tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      loop_.connections().make_room();
      std::make_shared<Connection>(loop_, std::move(socket), handler_)->start();
      accept();
      return;
    }
    if (error == asio::error::no_descriptors && loop_.connections().drop_longest_waiting()) {
      accept();
      return;
    }
    // Most likely out of descriptors; some will be free soon.
    retry_.expires_after(std::chrono::milliseconds(10));
    retry_.async_wait([this](const SystemError& stopped) {
      if (!stopped) accept();
    });
  });
}

void Listener::close() {
  SystemError ignored;
  acceptor_.close(ignored);
  retry_.cancel();
}

}  // namespace assay::server
