// Reads the reply to one request as it arrives, and fills in the request's log.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "serving/client/api.h"
#include "serving/client/event_stream.h"
#include "serving/client/http_connection.h"
#include "serving/client/reply_event.h"
#include "serving/results/request_log.h"

namespace assay {

class Flight final : public ReplyReader {
 public:
  /// Makes a new connection to the same server.
  using Connect = std::function<std::shared_ptr<HttpConnection>()>;

  /// `begin`: the start of the run, from which the log's times count. `heard` is called after every
  /// piece of the reply, `landed` once, as the last call.
  Flight(RequestLog log, const RequestOptions& options, LoadClock::time_point begin, bool keep_text,
         Connect connect, const std::function<void()>& heard, std::function<void(Flight&)> landed);

  /// Sends `request`, complete as from http_request(); once, on a new connection, if the server
  /// closed an open one before any reply.
  void send(std::shared_ptr<HttpConnection> connection, std::string request);
  /// Ends the request from the client's side.
  void give_up(ReplyEnd how, std::string_view why);

  RequestLog& log() { return log_; }
  /// Returns the text of the reply so far; empty without `keep_text`.
  const std::string& text() const { return text_; }
  const std::shared_ptr<HttpConnection>& connection() const { return connection_; }
  std::uint64_t events() const { return events_; }  ///< events of the stream so far
  /// When the server last sent a part of the reply, or else when the request was sent, in seconds
  /// of the run. Comments that keep a stream open are no part of it.
  double heard() const { return heard_; }

  void on_status(int status) override;
  std::string on_body(std::string_view bytes, LoadClock::time_point arrived) override;
  void on_end(ReplyEnd end, std::string_view error) override;

 private:
  double now() const { return time_of(LoadClock::now()); }
  /// In seconds of the run.
  double time_of(LoadClock::time_point when) const;
  bool resend();
  void take_event(std::string_view data, double time);
  void take_token(double time);
  void take_counts();
  /// Returns why the stream is longer than a reply to this request can be; empty: it is not.
  std::string excess() const;
  /// Returns why the server's counts of tokens cannot be right; empty if they can.
  std::string miscount() const;
  void judge(ReplyEnd end, std::string_view error);
  /// Counts the tokens, whether the reply ended or was given up, and makes the last call.
  void land();

  RequestLog log_;
  const RequestOptions& options_;
  const LoadClock::time_point begin_;
  const bool keep_text_;
  const Connect connect_;
  const std::function<void()>& on_heard_;
  std::function<void(Flight&)> landed_;
  std::shared_ptr<HttpConnection> connection_;
  EventStream stream_;
  ReplyEvent event_;
  std::string whole_;  ///< the body of a reply that is not a stream
  std::string text_;
  double heard_ = 0, arrived_ = 0;  ///< `arrived_`: the last bytes of any kind
  std::uint64_t events_ = 0, request_bytes_ = 0, reply_bytes_ = 0;
  bool was_open_ = false;  ///< the connection, before the request came
  bool done_ = false, nonsense_ = false, reasoned_ = false;
};

}  // namespace assay
