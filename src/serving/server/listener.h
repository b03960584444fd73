// Accepts connections on a port, in an event loop, and gives their requests to one handler.
#pragma once

#include "core/result.h"
#include "serving/server/connection.h"
#include "serving/server/loop.h"

namespace assay::server {

class Listener {
 public:
  /// `loop` and `handler` must outlive it and the connections.
  Listener(Loop& loop, RequestHandler& handler)
      : loop_(loop), handler_(handler), acceptor_(loop.context()), retry_(loop.context()) {}

  /// Listens from now on. Port 0: the system chooses a port. Error: unavailable, naming what
  /// failed.
  Status listen(const Tcp::endpoint& endpoint);
  std::uint16_t port() const;  ///< call it after listen(); the chosen port, if 0 was asked for
  /// Ends the listening; connections stay.
  void close();

 private:
  void accept();

  Loop& loop_;
  RequestHandler& handler_;
  Tcp::acceptor acceptor_;
  asio::steady_timer retry_;
};

}  // namespace assay::server
