// One client's connection: requests in, bytes out.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "serving/server/loop.h"

namespace assay::server {

class Connection;

struct HttpRequest {
  std::string method, path, body;
  bool keep_alive = true;
  bool chunks = true;   ///< the client understands chunks: HTTP/1.1
  double received = 0;  ///< when its last byte was read, by the loop's clock
};

/// Answers requests. Each gets one reply, followed by Connection::next() or close().
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  virtual void on_request(const std::shared_ptr<Connection>& connection, HttpRequest request) = 0;
};

/// A reply in progress, which is told if its reader is gone.
class Abandonable {
 public:
  virtual ~Abandonable() = default;
  virtual void abandoned() = 0;
};

/// Lives while its client is connected or a reply holds it. `handler` must outlive it.
class Connection final : public Due, public std::enable_shared_from_this<Connection> {
 public:
  Connection(Loop& loop, Tcp::socket socket, RequestHandler& handler);

  void start();
  bool open() const { return socket_.is_open(); }
  void tell(std::weak_ptr<Abandonable> reply) { reply_ = std::move(reply); }

  /// Writes at once what the system takes; the rest follows when it takes more.
  void write(std::string_view bytes);
  /// Writes each piece separately, with a pause in which the client can read it alone.
  void write_apart(std::vector<std::string> pieces);
  /// The reply is complete: the next request may come.
  void next();
  /// Closes once everything is written.
  void close();
  /// Closes with a TCP reset, even if data is unsent.
  void reset();

  void on_due(double due) override;  ///< the next piece

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void wait_read();
  void read();
  void parse();
  void refuse(const SystemError& error);
  void send(std::string_view bytes);
  void wait_write();
  void gone();
  void close_if_written();

  Loop& loop_;
  Tcp::socket socket_;
  RequestHandler& handler_;
  std::weak_ptr<Abandonable> reply_;
  std::optional<Parser> parser_;  // for a request that is not complete yet
  std::string input_;             // read but not parsed
  std::string unsent_;            // passed to write() but not taken by the system
  std::deque<std::string> pieces_;
  bool replying_ = false, reading_ = false, closing_ = false;
};

}  // namespace assay::server
