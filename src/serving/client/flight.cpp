#include "serving/client/flight.h"

#include <fmt/format.h>

namespace assay {
namespace {

constexpr int ok = 200;
constexpr std::size_t most_whole_bytes = 64 << 20;
constexpr std::size_t most_error_bytes = 300;

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
      landed_(std::move(landed)) {}

double Flight::time_of(LoadClock::time_point when) const {
  return std::chrono::duration<double>(when - begin_).count();
}

void Flight::send(std::shared_ptr<HttpConnection> connection, std::string request) {
  connection_ = std::move(connection);
  log_.sent = heard_ = now();
  connection_->ask(std::move(request), *this);
}

bool Flight::resend() {
  const bool was_kept = connection_->replies() > 0;
  if (!was_kept || log_.resent) return false;
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
  landed_(*this);
}

void Flight::on_status(int status) {
  log_.status = status;
}

bool Flight::on_body(std::string_view bytes, LoadClock::time_point arrived) {
  const double time = heard_ = time_of(arrived);
  bool fine = true;
  if (options_.stream && log_.status == ok) {
    fine = stream_.feed(bytes, [&](std::string_view data) { take_event(data, time); });
  } else {
    whole_.append(bytes);
    fine = whole_.size() <= most_whole_bytes;
  }
  on_heard_();
  return fine;
}

void Flight::take_event(std::string_view data, double time) {
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
}

void Flight::on_end(ReplyEnd end, std::string_view error) {
  // Some servers close a connection just after a reply, while the next request is on its way.
  if (end == ReplyEnd::broken && log_.status == 0 && resend()) return;
  log_.end = now();
  if (options_.stream && log_.status == ok) {
    stream_.finish([&](std::string_view data) { take_event(data, heard_); });
  } else if (end == ReplyEnd::complete) {
    take_event(whole_, heard_);
    done_ = true;
  }
  judge(end, error);
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
  }
}

}  // namespace assay
