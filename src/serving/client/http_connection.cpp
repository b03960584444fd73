#include "serving/client/http_connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/descriptor.h"

namespace assay {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

constexpr std::uint32_t most_header_bytes = 64 << 10;
constexpr std::size_t tls_read_bytes = 16 << 10;
constexpr int most_reads = 8;  // the most reads of one socket before others get their turn

std::string_view view_of(string_view text) {
  return {text.data(), text.size()};
}

/// Passes a reply's status and body straight to its reader.
class ReplyParser final : public http::basic_parser<false> {
 public:
  /// `arrived`: when the bytes being parsed arrived.
  ReplyParser(ReplyReader& reader, const LoadClock::time_point& arrived)
      : reader_(reader), arrived_(arrived) {
    header_limit(most_header_bytes);
    body_limit(std::numeric_limits<std::uint64_t>::max());  // readers enforce limits of their own
    eager(true);
  }
  /// Why the reader refused the body; empty: it did not.
  const std::string& refusal() const { return refusal_; }
  /// What was parsed only announces the reply. 101 does not: it changes the protocol.
  bool is_interim() const { return status_ >= 100 && status_ < 200 && status_ != 101; }

 private:
  void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int status, string_view, int, error_code&) override {
    status_ = status;
    if (!is_interim()) reader_.on_status(status);
  }
  void on_field_impl(http::field, string_view, string_view, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code& error) override {
    return take(body, error);
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& error) override {
    return take(body, error);
  }
  void on_finish_impl(error_code&) override {}

  std::size_t take(string_view body, error_code& error) {
    refusal_ = reader_.on_body(view_of(body), arrived_);
    if (!refusal_.empty()) error = http::error::unexpected_body;
    return body.size();
  }

  ReplyReader& reader_;
  const LoadClock::time_point& arrived_;
  std::string refusal_;
  int status_ = 0;
};

/// Asio connects and handles TLS; once connected, a plain connection is read and written without
/// Asio.
class Connection final : public HttpConnection, public SocketWatch::Watcher {
 public:
  Connection(asio::io_context& loop, SocketWatch& watch, const Endpoint& endpoint)
      : loop_(loop), watch_(watch), endpoint_(endpoint), socket_(loop) {}
  ~Connection() override { close_socket(); }

  void open(std::function<void()> done) override {
    opened_ = std::move(done);
    connect();
  }

  void ask(std::string request, ReplyReader& reader) override {
    request_ = std::move(request);
    sent_ = 0;
    reader_ = &reader;
    parser_.emplace(reader, arrived_);
    begun_ = false;
    if (open_) {
      write();
    } else {
      connect();
    }
  }

  bool is_open() const override { return open_; }
  std::string take_request() override { return std::move(request_); }

  void close() override {
    reader_ = nullptr;
    opened_ = nullptr;
    open_ = false;
    close_socket();
  }

  void on_ready(bool over) override {
    const auto alive = self();
    // If the server cut off the request, the reply it sent before that says why.
    const error_code unsent = writing_ ? write_plain() : error_code();
    for (int reads = 0; open_; ++reads) {
      if (reads == most_reads) return come_back(over || unsent);
      std::vector<char>& buffer = watch_.scratch();
      const StampedRead read = read_stamped(plain_.number(), buffer.data(), buffer.size());
      if (read.bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        if (unsent) fail_to_send(unsent);
        return;
      }
      arrived_ = std::max(arrived_, read.arrived);
      error_code error;
      if (read.bytes < 0) error.assign(errno, asio::error::get_system_category());
      if (read.bytes == 0) error = unsent ? unsent : error_code(asio::error::eof);
      const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(read.bytes, 0));
      take(error, {buffer.data(), bytes});
      // A short read: nothing more is there, or epoll will report it.
      if (bytes < buffer.size() && !over && !unsent) return;
    }
  }

 private:
  std::shared_ptr<Connection> self() {
    return std::static_pointer_cast<Connection>(shared_from_this());
  }

  /// There is more to read, but other sockets come first, so that a server that never stops writing
  /// cannot occupy the loop.
  void come_back(bool over) {
    asio::post(loop_, [weak = weak_from_this(), over] {
      const auto me = std::static_pointer_cast<Connection>(weak.lock());
      if (me && me->plain_.number() >= 0) me->on_ready(over);
    });
  }

  void connect() {
    socket_.socket().async_connect(endpoint_.address, [me = self()](const error_code& error) {
      if (!me->is_wanted()) return;
      if (error) return me->fail_to_connect("connecting: " + error.message());
      prepare_stamps(me->socket_.socket().native_handle());
      if (me->endpoint_.tls == nullptr) return me->watch();
      me->shake_hands();
    });
  }

  void watch() {
    error_code error;
    plain_.reset(socket_.socket().release(error));
    const Status watched = watch_.add(plain_.number(), *this);
    if (!watched.ok()) return fail_to_connect(watched.error().message);
    connected();
  }

  void shake_hands() {
    tls_ = std::make_unique<Tls>(socket_, *endpoint_.tls);
    tls_buffer_.resize(tls_read_bytes);
    const std::string& host = endpoint_.url.host;
    SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
    error_code error;
    if (SSL_get_verify_mode(tls_->native_handle()) != SSL_VERIFY_NONE) {
      tls_->set_verify_callback(asio::ssl::rfc2818_verification(host), error);
    }
    tls_->async_handshake(asio::ssl::stream_base::client, [me = self()](const error_code& failed) {
      if (!me->is_wanted()) return;
      if (failed) return me->fail_to_connect("TLS: " + failed.message());
      me->connected();
    });
  }

  void connected() {
    open_ = true;
    if (reader_ != nullptr) return write();
    if (tls_) read_tls();
    std::exchange(opened_, nullptr)();
  }

  /// Whether somebody waits until it is connected.
  bool is_wanted() const { return reader_ != nullptr || opened_ != nullptr; }

  void fail_to_connect(std::string_view why) {
    if (reader_ != nullptr) return end(ReplyEnd::unconnected, why);
    close_socket();
    std::exchange(opened_, nullptr)();
  }

  void write() {
    writing_ = true;
    if (!tls_) {
      if (const error_code error = write_plain()) fail_to_send_later(error);
      return;
    }
    asio::async_write(*tls_, asio::buffer(request_),
                      [me = self()](const error_code& error, std::size_t) {
                        me->writing_ = false;
                        if (me->reader_ != nullptr && error) me->fail_to_send(error);
                      });
    read_tls();
  }

  /// Writes as much as the socket takes; the rest follows when it is ready again.
  error_code write_plain() {
    while (sent_ < request_.size()) {
      const ssize_t sent = ::send(plain_.number(), request_.data() + sent_, request_.size() - sent_,
                                  MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
      // writing_ stays set: after half a request the connection cannot be reused, whatever the
      // reply.
      if (sent < 0) return {errno, asio::error::get_system_category()};
      sent_ += static_cast<std::size_t>(sent);
    }
    writing_ = false;
    return {};
  }

  /// Deferred, because ask() must return before its reader is called.
  void fail_to_send_later(const error_code& error) {
    asio::post(loop_, [weak = weak_from_this(), error, reader = reader_] {
      const auto me = std::static_pointer_cast<Connection>(weak.lock());
      if (me && reader != nullptr && me->reader_ == reader) me->fail_to_send(error);
    });
  }

  void fail_to_send(const error_code& error) {
    end(ReplyEnd::broken, "sending: " + error.message());
  }

  /// A read is always pending, so that a server closing an idle connection is noticed before the
  /// next request.
  void read_tls() {
    if (reading_) return;
    reading_ = true;
    tls_->async_read_some(asio::buffer(tls_buffer_),
                          [me = self()](const error_code& error, std::size_t bytes) {
                            me->reading_ = false;
                            me->arrived_ = std::max(me->arrived_, me->socket_.arrived());
                            me->take(error, {me->tls_buffer_.data(), bytes});
                          });
  }

  void take(const error_code& error, std::string_view text) {
    if (error == asio::error::operation_aborted) return;
    if (reader_ == nullptr) {  // idle: the server may close the connection but has nothing to send
      open_ = false;
      return;
    }
    if (error) return cut_off(error);
    begun_ = true;
    if (!unread_.empty()) {
      unread_.append(text);
      text = unread_;
    }
    const auto used = parse(text);
    if (!used) return;
    if (text.size() - *used > most_header_bytes) {
      return end(ReplyEnd::malformed, "not HTTP: a header or chunk is too long");
    }
    unread_ = std::string(text.substr(*used));
    if (tls_) read_tls();
  }

  /// Returns how much of `text` was consumed. The parser needs the rest again, e.g. half a chunk's
  /// header, when more has arrived. Empty: the reply has ended.
  std::optional<std::size_t> parse(std::string_view text) {
    std::size_t used = 0;
    while (used < text.size()) {
      error_code error;
      const std::size_t more =
          parser_->put(asio::const_buffer(text.data() + used, text.size() - used), error);
      used += more;
      if (reader_ == nullptr) return std::nullopt;  // closed by its reader
      if (parser_->is_done() && parser_->is_interim()) {
        parser_.emplace(*reader_, arrived_);
        continue;
      }
      if (parser_->is_done()) {
        open_ = parser_->keep_alive() && used == text.size() && !writing_;
        end(ReplyEnd::complete, "");
        return std::nullopt;
      }
      if (error == http::error::need_more || (!error && more == 0)) break;
      if (!error) continue;
      end(ReplyEnd::malformed,
          parser_->refusal().empty() ? "not HTTP: " + error.message() : parser_->refusal());
      return std::nullopt;
    }
    return used;
  }

  /// The server closed the connection: this ends a reply without a length, and cuts any other
  /// short.
  void cut_off(const error_code& error) {
    open_ = false;
    if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
      error_code wrong;
      if (begun_) parser_->put_eof(wrong);
      if (begun_ && !wrong && parser_->is_done()) return end(ReplyEnd::complete, "");
      return end(ReplyEnd::broken, begun_ ? "the server closed the connection within its reply"
                                          : "the server closed the connection without a reply");
    }
    end(ReplyEnd::broken, "reading: " + error.message());
  }

  void end(ReplyEnd how, std::string_view error) {
    if (how != ReplyEnd::complete) open_ = false;
    ReplyReader* reader = std::exchange(reader_, nullptr);
    unread_.clear();
    if (!open_) {
      close_socket();
    } else if (tls_) {
      read_tls();
    }
    reader->on_end(how, error);
  }

  void close_socket() {
    if (plain_.number() >= 0) {
      watch_.remove(plain_.number());
      plain_.close();
    }
    error_code ignored;
    socket_.socket().close(ignored);
  }

  using Tls = asio::ssl::stream<StampedSocket&>;

  asio::io_context& loop_;
  SocketWatch& watch_;
  const Endpoint& endpoint_;
  StampedSocket socket_;      ///< until it becomes plain_; below tls_
  std::unique_ptr<Tls> tls_;  ///< null: not used
  Descriptor plain_;
  LoadClock::time_point arrived_;  ///< when the last bytes read arrived
  boost::optional<ReplyParser> parser_;
  ReplyReader* reader_ = nullptr;  ///< null: idle
  std::string request_, unread_;
  std::size_t sent_ = 0;          ///< bytes of the request written, without TLS
  std::function<void()> opened_;  ///< null: not being opened ahead
  std::vector<char> tls_buffer_;
  bool open_ = false, reading_ = false, writing_ = false, begun_ = false;
};

}  // namespace

std::shared_ptr<HttpConnection> HttpConnection::make(asio::io_context& loop, SocketWatch& watch,
                                                     const Endpoint& endpoint) {
  return std::make_shared<Connection>(loop, watch, endpoint);
}

std::string http_request(std::string_view method, const Url& url, std::string_view path,
                         std::string_view fields, std::string_view body) {
  std::string text = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nAccept: */*\r\n{}", method,
                                 url.path, path, authority_of(url), fields);
  if (method == "POST") {
    text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  }
  text += "\r\n";
  return text.append(body);
}

}  // namespace assay
