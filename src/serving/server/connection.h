// Reads a client's requests from its connection and writes bytes to it.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "serving/server/http_text.h"
#include "serving/server/loop.h"

namespace assay::server {

class Connection;

struct HttpRequest {
  std::string method, path, body;  ///< the path has no query
  bool is_json = false;            ///< what its Content-Type says
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

/// A reply in progress, whose abandoned() is called if its client is gone.
class Abandonable {
 public:
  virtual ~Abandonable() = default;
  virtual void abandoned() = 0;
};

/// Lives while its client is connected or a reply holds it. `handler` must outlive it.
class Connection final : public Due, public std::enable_shared_from_this<Connection> {
 public:
  Connection(Loop& loop, Tcp::socket socket, RequestHandler& handler);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();  ///< begins to read requests
  bool open() const { return socket_.is_open() && !ending_; }
  /// Names the reply in progress, which is abandoned if the client goes before next().
  void tell(std::weak_ptr<Abandonable> reply) { reply_ = std::move(reply); }

  /// Writes at once what the system takes; the rest follows when it takes more. A client that
  /// leaves more than 32 MiB of several writes unread loses the connection.
  void write(std::string_view bytes);
  /// Writes a reply in one piece; to a request HEAD, without its body.
  void write_whole(const ReplyHead& head, std::string_view body);
  /// Writes each piece separately, with a pause in which the client can read it alone.
  void write_apart(std::vector<std::string> pieces);
  /// The reply is complete: the next request may come.
  void next();
  /// Closes once everything is written and the client has closed its side, too, or was given time
  /// to: a client that is still sending would otherwise get a reset in place of the reply.
  void close();
  /// Closes with a TCP reset, even if data is unsent.
  void reset();

  void on_due(double due) override;  ///< the next piece

 private:
  friend class ConnectionTable;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void wait_read();
  void read();
  void parse();
  void answer_head();
  void refuse(int status, std::string_view why);
  /// Ends the connection, whatever it waits for. If that is the rest of a request, the client is
  /// told.
  void drop(int status, std::string_view why);
  Waits waits() const;
  /// Tells the table what is waited for and held. `again`: something went on.
  void note(bool again = false);
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
  std::optional<std::size_t> place_;  // in the table
  bool replying_ = false, reading_ = false, closing_ = false;
  bool has_head_ = false;  // the head of a request has arrived, and the request is not complete yet
  bool head_only_ = false;  // the present request asks for no body
  bool ending_ = false;     // all is written; only the client's end is waited for
};

}  // namespace assay::server
