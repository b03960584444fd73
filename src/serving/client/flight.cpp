#include "serving/client/flight.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

constexpr int ok = 200;
constexpr std::size_t most_whole_bytes = 64 << 20, most_stream_bytes = 256 << 20;
constexpr std::size_t most_error_bytes = 300;
/// Some servers end a reply with an event of its own, which counts as a token.
constexpr std::uint64_t few_events = 16;
/// Tokens that a chat template adds to a prompt, or an image that is only named in it.
constexpr std::uint64_t most_added_tokens = 100'000;

/// Text from a server, made fit to show: one line, no control characters.
std::string one_line(std::string_view text) {
  std::string line(text.substr(0, most_error_bytes));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace

Flight::Flight(RequestLog log, const RequestOptions& options, LoadClock::time_point begin,
               bool keep_text, Connect connect, const std::function<void()>& heard,
               std::function<void(Flight&)> landed)
    : log_(std::move(log)),
      options_(options),
      begin_(begin),
      keep_text_(keep_text),
      connect_(std::move(connect)),
      on_heard_(heard),
      landed_(std::move(landed)) {
  log_.streamed = options_.stream;
  log_.output_bytes = 0;
}

double Flight::time_of(LoadClock::time_point when) const {
  return std::chrono::duration<double>(when - begin_).count();
}

void Flight::send(std::shared_ptr<HttpConnection> connection, std::string request) {
  connection_ = std::move(connection);
  was_open_ = connection_->is_open();
  log_.sent = heard_ = arrived_ = now();
  request_bytes_ = request.size();
  connection_->ask(std::move(request), *this);
}

bool Flight::resend() {
  if (!was_open_ || log_.resent) return false;
  std::string request = connection_->take_request();
  connection_ = connect_();
  log_.resent = true;
  connection_->ask(std::move(request), *this);
  return true;
}

void Flight::give_up(ReplyEnd how, std::string_view why) {
  connection_->close();
  log_.end = now();
  log_.reply_end = how;
  log_.error = why;
  land();
}

void Flight::on_status(int status) {
  log_.status = status;
}

std::string Flight::on_body(std::string_view bytes, LoadClock::time_point arrived) {
  arrived_ = time_of(arrived);
  reply_bytes_ += bytes.size();
  std::string fault;
  if (options_.stream && log_.status == ok) {
    const bool fine = stream_.feed(bytes, [&](std::string_view data) {
      heard_ = arrived_;
      take_event(data, arrived_);
    });
    fault = fine ? excess() : "a line of it is longer than 64 MiB";
  } else {
    heard_ = arrived_;
    whole_.append(bytes);
    if (whole_.size() > most_whole_bytes) fault = "it is longer than 64 MiB";
  }
  on_heard_();
  return fault;
}

std::string Flight::excess() const {
  if (reply_bytes_ > most_stream_bytes) return "its stream is longer than 256 MiB";
  if (log_.output_asked == 0 || log_.gaps.size() <= 2 * log_.output_asked + few_events) return {};
  return fmt::format("its stream goes on after twice the {} tokens asked for", log_.output_asked);
}

std::string Flight::miscount() const {
  if (!log_.counted) return {};
  if (log_.output_asked > 0 && log_.output_tokens > log_.output_asked) {
    return fmt::format("the server counts {} tokens in its reply; asked for were {}",
                       log_.output_tokens, log_.output_asked);
  }
  if (log_.output_tokens > reply_bytes_) {
    return fmt::format("the server counts {} tokens in its reply of {} bytes", log_.output_tokens,
                       reply_bytes_);
  }
  if (log_.prompt_tokens > request_bytes_ + most_added_tokens) {
    return fmt::format("the server counts {} tokens in a request of {} bytes", log_.prompt_tokens,
                       request_bytes_);
  }
  return {};
}

void Flight::take_event(std::string_view data, double time) {
  if (done_) return;  // what follows the end mark is no part of the reply
  if (data == "[DONE]") {
    done_ = true;
    return;
  }
  ++events_;
  if (!read_reply_event(options_.api, data, event_)) {
    nonsense_ = true;
    if (log_.error.empty()) log_.error = "an event is not JSON: " + one_line(data.substr(0, 80));
    return;
  }
  if (!event_.error.empty() && log_.error.empty()) log_.error = one_line(event_.error);
  if (event_.token) take_token(time);
  take_counts();
}

void Flight::take_token(double time) {
  if (log_.first < 0) {
    log_.first = time;
  } else {
    log_.gaps.push_back(static_cast<float>(time - log_.last));
  }
  log_.last = time;
  if (event_.sent_ns) {
    const std::chrono::duration<double> begin = begin_.time_since_epoch();
    const double sent = static_cast<double>(*event_.sent_ns) * 1e-9 - begin.count();
    log_.delays.push_back(static_cast<float>(time - sent));
  }
  if (keep_text_) text_ += event_.text;
}

void Flight::take_counts() {
  if (!event_.finish_reason.empty()) log_.finish_reason = one_line(event_.finish_reason);
  if (event_.prompt_tokens) log_.prompt_tokens = *event_.prompt_tokens;
  if (event_.output_tokens) {
    log_.output_tokens = *event_.output_tokens;
    log_.counted = true;
  }
  *log_.output_bytes += event_.output_bytes;
  reasoned_ = reasoned_ || event_.has_reasoning;
  if (event_.reasoning_tokens) log_.hidden_tokens = *event_.reasoning_tokens;
}

void Flight::on_end(ReplyEnd end, std::string_view error) {
  // Some servers close a connection just after a reply, or when none has come on it for a while,
  // while the next request is on its way.
  if (end == ReplyEnd::broken && log_.status == 0 && resend()) return;
  log_.end = now();
  if (options_.stream && log_.status == ok) {
    stream_.finish([&](std::string_view data) { take_event(data, arrived_); });
  } else if (end == ReplyEnd::complete) {
    take_event(whole_, arrived_);
    done_ = true;
  }
  judge(end, error);
  land();
}

void Flight::land() {
  if (reasoned_) log_.hidden_tokens = 0;
  log_.hidden_tokens = std::min(log_.hidden_tokens, log_.output_tokens);
  if (!log_.counted) {
    log_.output_tokens = log_.first < 0 ? 0 : log_.gaps.size() + 1;
    if (log_.prompt_tokens == 0) log_.prompt_tokens = log_.prompt_asked;
  }
  landed_(*this);
}

void Flight::judge(ReplyEnd end, std::string_view error) {
  log_.reply_end = end;
  if (end != ReplyEnd::complete) {
    log_.error = error;
  } else if (log_.status != ok) {
    log_.reply_end = ReplyEnd::refused;
    const std::string said = event_.error.empty() ? one_line(whole_) : log_.error;
    log_.error = fmt::format("HTTP {}{}{}", log_.status, said.empty() ? "" : ": ", said);
  } else if (nonsense_) {
    log_.reply_end = ReplyEnd::malformed;
  } else if (!log_.error.empty()) {
    log_.reply_end = ReplyEnd::refused;  // an error inside a reply with status 200
  } else if (!done_ && (options_.api == Api::completions || options_.api == Api::chat)) {
    log_.reply_end = ReplyEnd::unfinished;
    log_.error = "the stream ended without [DONE]";
  } else if (std::string wrong = miscount(); !wrong.empty()) {
    log_.reply_end = ReplyEnd::malformed;
    log_.error = std::move(wrong);
  }
}

}  // namespace assay
