#include "serving/server/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/beast/core/error.hpp>
#include <cerrno>

#include "serving/server/request_head.h"

namespace assay::server {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t most_head = 16 << 10, most_body = 32 << 20;
constexpr std::size_t most_ahead = 64 << 10;   // bytes of pipelined requests
constexpr std::size_t most_unsent = 32 << 20;  // bytes that a client may leave unread
constexpr double pause_between_pieces = 5e-4;

}  // namespace

Connection::Connection(Loop& loop, Tcp::socket socket, RequestHandler& handler)
    : loop_(loop), socket_(std::move(socket)), handler_(handler) {
  loop_.connections().add(*this, loop_.now());
}

Connection::~Connection() {
  if (place_) loop_.connections().remove(*this);
}

void Connection::start() {
  SystemError ignored;
  socket_.set_option(Tcp::no_delay(true), ignored);
  // A system default with pacing, such as BBR, would delay tokens.
  constexpr std::string_view unpaced = "reno";
  ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_CONGESTION, unpaced.data(),
               unpaced.size());
  socket_.native_non_blocking(true, ignored);
  wait_read();
}

void Connection::wait_read() {
  if (reading_ || !socket_.is_open()) return;
  if (!ending_ && replying_ && input_.size() > most_ahead) return;
  reading_ = true;
  socket_.async_wait(Tcp::socket::wait_read, [self = shared_from_this()](const SystemError& error) {
    self->reading_ = false;
    if (!error) self->read();
  });
}

void Connection::read() {
  if (!socket_.is_open()) return;
  std::vector<char>& buffer = loop_.scratch();
  const ssize_t got = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
    gone();
    return;
  }
  if (got > 0 && !ending_) input_.append(buffer.data(), static_cast<std::size_t>(got));
  if (!replying_ && !ending_) parse();
  note();
  wait_read();
}

Waits Connection::waits() const {
  if (ending_) return Waits::for_end;
  if (!unsent_.empty()) return Waits::for_reader;
  if (replying_) return Waits::for_reply;
  return parser_ ? Waits::for_rest : Waits::for_request;
}

void Connection::note(bool again) {
  if (!place_) return;
  loop_.connections().set(*this, waits(), loop_.now(), again);
  loop_.connections().hold(
      *this, input_.size() + unsent_.size() + (parser_ ? parser_->get().body().size() : 0));
}

void Connection::parse() {
  if (input_.empty()) return;
  if (!parser_) {
    parser_.emplace();
    parser_->header_limit(most_head);
    parser_->body_limit(most_body);
    parser_->eager(true);
    has_head_ = head_only_ = false;
  }
  SystemError error;
  const std::size_t used = parser_->put(asio::buffer(input_), error);
  input_.erase(0, used);
  if (input_.empty()) input_.shrink_to_fit();
  if (error && error != http::error::need_more) {
    refuse(error == http::error::body_limit     ? 413
           : error == http::error::header_limit ? 431
                                                : 400,
           error.message());
    return;
  }
  if (!has_head_ && parser_->is_header_done()) answer_head();
  if (!parser_ || !parser_->is_done()) return;  // none: refused, or the client is gone
  HttpRequest request;
  request.received = loop_.now();
  auto& message = parser_->get();
  request.method = std::string(message.method_string());
  request.path = path_of(message);
  request.is_json = is_json(message);
  // Clients of HTTP/1.0 would have to be told that the connection stays.
  request.keep_alive = message.keep_alive() && message.version() >= 11;
  request.chunks = message.version() >= 11;
  request.body = std::move(message.body());
  parser_.reset();
  replying_ = true;
  handler_.on_request(shared_from_this(), std::move(request));
}

/// To what the head says already: an error, or that the body may come.
void Connection::answer_head() {
  has_head_ = true;
  SystemError ignored;
  const bool here = socket_.local_endpoint(ignored).address().is_loopback();
  const auto& message = parser_->get();
  head_only_ = message.method() == http::verb::head;
  if (const auto fault = fault_of(message, here)) {
    refuse(fault->status, fault->message);
  } else if (!parser_->is_done() &&
             boost::beast::iequals(message[http::field::expect], "100-continue")) {
    write("HTTP/1.1 100 Continue\r\n\r\n");
  }
}

void Connection::refuse(int status, std::string_view why) {
  parser_.reset();
  replying_ = true;
  write_whole({.status = status, .close = true}, error_body(status, why));
  close();
}

void Connection::drop(int status, std::string_view why) {
  const auto self = shared_from_this();
  if (waits() != Waits::for_rest) return gone();
  input_.clear();
  input_.shrink_to_fit();
  refuse(status, why);
  note();
}

void Connection::write_whole(const ReplyHead& head, std::string_view body) {
  write(whole_reply(head, body, !head_only_));
}

void Connection::write(std::string_view bytes) {
  if (pieces_.empty()) {
    send(bytes);
  } else {
    pieces_.emplace_back(bytes);
  }
}

void Connection::write_apart(std::vector<std::string> pieces) {
  const bool waiting = !pieces_.empty();
  for (std::string& piece : pieces) pieces_.push_back(std::move(piece));
  if (!waiting) on_due(0);
}

void Connection::on_due(double) {
  if (pieces_.empty() || !open()) return;
  send(pieces_.front());
  pieces_.pop_front();
  if (!pieces_.empty()) loop_.at(loop_.now() + pause_between_pieces, shared_from_this());
  close_if_written();
}

void Connection::send(std::string_view bytes) {
  if (!open() || bytes.empty()) return;
  if (unsent_.empty()) {
    const ssize_t sent =
        ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(bytes.size())) return;
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      gone();
      return;
    }
    unsent_ = bytes.substr(sent < 0 ? 0 : static_cast<std::size_t>(sent));
    note(sent > 0);
    wait_write();
  } else if (unsent_.size() + bytes.size() > most_unsent) {
    gone();
  } else {
    unsent_ += bytes;
    note();
  }
}

void Connection::wait_write() {
  socket_.async_wait(Tcp::socket::wait_write,
                     [self = shared_from_this()](const SystemError& error) {
                       if (error || !self->open()) return;
                       const std::string rest = std::move(self->unsent_);
                       self->unsent_.clear();
                       self->send(rest);
                       self->note();
                       self->close_if_written();
                     });
}

void Connection::next() {
  replying_ = false;
  reply_.reset();
  // Posted, not called: many pipelined requests would otherwise recurse.
  if (!input_.empty()) {
    asio::post(loop_.context(), [self = shared_from_this()] {
      if (!self->replying_ && self->open()) self->parse();
      self->note();
      self->wait_read();
    });
  }
  note(true);  // also if the reply was there at once
  wait_read();
}

void Connection::close() {
  closing_ = true;
  close_if_written();
}

void Connection::close_if_written() {
  if (!closing_ || !unsent_.empty() || !pieces_.empty() || !open()) return;
  SystemError ignored;
  socket_.shutdown(Tcp::socket::shutdown_send, ignored);
  ending_ = true;
  input_.clear();
  input_.shrink_to_fit();
  note();
  wait_read();
}

void Connection::reset() {
  SystemError ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  gone();
}

void Connection::gone() {
  SystemError ignored;
  socket_.close(ignored);
  pieces_.clear();
  unsent_.clear();
  input_.clear();
  parser_.reset();
  if (place_) loop_.connections().remove(*this);
  if (const auto reply = std::exchange(reply_, {}).lock()) reply->abandoned();
}

}  // namespace assay::server
