// One connection to a server, kept for request after request: HTTP/1.1 over TCP or TLS.
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

/// Who asked; called from within the io_context.
class ReplyReader {
 public:
  virtual ~ReplyReader() = default;
  virtual void on_status(int status) = 0;
  /// A piece of the body and when it came. False: this is no reply, end it.
  virtual bool on_body(std::string_view bytes, LoadClock::time_point arrived) = 0;
  /// The last call for a request. `end`: complete, unconnected, broken or malformed.
  virtual void on_end(ReplyEnd end, std::string_view error) = 0;
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// `loop`, `watch` and `endpoint` must outlive it.
  static std::shared_ptr<HttpConnection> make(boost::asio::io_context& loop, SocketWatch& watch,
                                              const Endpoint& endpoint);
  virtual ~HttpConnection() = default;

  /// Connects the first time, writes `request` (whole, as it goes over the wire) and reads its
  /// reply. One at a time, and only while is_open() after the first.
  virtual void ask(std::string request, ReplyReader& reader) = 0;
  /// After a reply has ended: the server will take another request.
  virtual bool is_open() const = 0;
  /// Complete ones, so far.
  virtual int replies() const = 0;
  /// What the last ask() sent.
  virtual std::string take_request() = 0;
  /// Gives up on the reply: the reader is not called again.
  virtual void close() = 0;
};

/// "POST /path HTTP/1.1" with Host, Content-Type, Content-Length and `fields`, lines of
/// "Name: value\r\n".
std::string http_request(std::string_view method, const Url& url, std::string_view path,
                         std::string_view fields, std::string_view body);

}  // namespace assay
