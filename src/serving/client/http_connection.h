// A persistent connection to a server: HTTP/1.1 over TCP or TLS.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "serving/client/endpoint.h"
#include "serving/client/socket_watch.h"
#include "serving/client/stamped_socket.h"
#include "serving/results/request_log.h"

namespace assay {

/// Receives a reply; called from within the io_context.
class ReplyReader {
 public:
  virtual ~ReplyReader() = default;
  /// The final status; interim ones (100 Continue, 103 Early Hints) are skipped.
  virtual void on_status(int status) = 0;
  /// A piece of the body and when it arrived. Returns why the reply is invalid, which ends it; an
  /// empty text lets the reply continue.
  virtual std::string on_body(std::string_view bytes, LoadClock::time_point arrived) = 0;
  /// The last call for a request. `end`: complete, unconnected, broken or malformed.
  virtual void on_end(ReplyEnd end, std::string_view error) = 0;
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// `loop`, `watch` and `endpoint` must outlive the connection.
  static std::shared_ptr<HttpConnection> make(boost::asio::io_context& loop, SocketWatch& watch,
                                              const Endpoint& endpoint);
  virtual ~HttpConnection() = default;

  /// Connects while there is nothing to ask yet. Calls done() from within the io_context, once it
  /// is_open() or cannot be: then ask() tries again.
  virtual void open(std::function<void()> done) = 0;
  /// Connects unless it is open, writes `request` (complete, as sent over the wire) and reads its
  /// reply. One request at a time; after the first, or once opened, only while is_open().
  virtual void ask(std::string request, ReplyReader& reader) = 0;
  /// While nothing is asked: whether the connection can take a request.
  virtual bool is_open() const = 0;
  /// Returns the request of the last ask(), so that it can be sent again elsewhere.
  virtual std::string take_request() = 0;
  /// Gives up on the reply, or on opening: neither the reader nor done() is called again.
  virtual void close() = 0;
};

/// Returns a whole request for `path` below that of `url`, "POST /path HTTP/1.1" and so on, with
/// Host, Accept and `fields`, lines like "Name: value\r\n"; a POST also has Content-Type (JSON) and
/// Content-Length.
std::string http_request(std::string_view method, const Url& url, std::string_view path,
                         std::string_view fields, std::string_view body);

}  // namespace assay
