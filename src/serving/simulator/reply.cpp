#include "serving/simulator/reply.h"

#include <algorithm>

namespace assay::simulator {
namespace {

constexpr std::size_t pieces_of_a_split = 10, events_of_a_merged = 4;
constexpr std::uint64_t tokens_before_a_hang = 3;
constexpr std::size_t long_line = 10'000'000;
constexpr double slow_close_seconds = 1;
constexpr std::string_view two_byte_text = " n\xc3\xa9";

std::string chunk_of(std::string_view content) {
  ChunkBuffer chunk;
  chunk.begin() += content;
  return std::string(chunk.end());
}

std::string long_text() {
  std::string text;
  while (text.size() < long_line) text += " and";
  return text;
}

}  // namespace

Reply::Reply(Loop& loop, std::shared_ptr<Connection> connection,
             std::shared_ptr<ServerMetrics> metrics, EngineDriver* driver, ReplyPlan plan)
    : loop_(loop),
      connection_(std::move(connection)),
      metrics_(std::move(metrics)),
      driver_(driver),
      plan_(std::move(plan)),
      last_token_(plan_.choices) {
  if (driver_ == nullptr) ++metrics_->running;
}

Reply::~Reply() {
  if (driver_ == nullptr) --metrics_->running;
}

void Reply::begin() {
  if (plan_.stream) {
    connection_->write(stream_head(
        {.content_type = "text/event-stream; charset=utf-8", .close = !plan_.keep_alive}));
  }
  if (plan_.tokens == 0) finish();
}

void Reply::on_started(double when) {
  if (started_ < 0) started_ = when;
}

bool Reply::on_token(const SourceToken& token) {
  if (over_ || !connection_->open()) return false;
  if (plan_.fault == Fault::hang && token.number > tokens_before_a_hang) {
    over_ = true;
    return false;
  }
  if (plan_.fault == Fault::reset && 2 * token.number > plan_.tokens) {
    over_ = true;
    connection_->reset();
    return false;
  }
  if (plan_.stream) write_token(token);
  observe(token, loop_.now());
  // A hanging reply is never finished, streamed or not.
  if (token.last && ++finished_ == plan_.choices) {
    if (plan_.fault == Fault::hang) {
      over_ = true;
    } else {
      finish();
    }
  }
  return true;
}

void Reply::write_token(const SourceToken& token) {
  static thread_local ChunkBuffer chunk;  // allocated once, not for each token
  const bool odd = token.number == std::min<std::uint64_t>(2, plan_.tokens);
  TokenEvent event{token.choice, token.number, token_text(plan_.request, token.number), token.last};
  std::string& out = chunk.begin();
  const std::size_t frame = out.size();
  if (token.number == 1 && plan_.format->has_opening()) {
    plan_.format->opening(token.choice, out);
    connection_->write(chunk.end());
    chunk.begin();
  }
  if (plan_.fault == Fault::line && odd) {
    const std::string text = long_text();
    event.text = text;
    plan_.format->token(event, out);
    connection_->write(chunk.end());
    return;
  }
  if (plan_.fault == Fault::utf8 && odd) event.text = two_byte_text;
  plan_.format->token(event, out);
  const auto events = std::string_view(out).substr(frame);
  if (plan_.fault == Fault::merged) {
    write_merged(events, token.last);
  } else if (plan_.fault == Fault::split && odd) {
    write_split(events);
  } else if (plan_.fault == Fault::utf8 && odd) {
    const std::size_t half = events.find(two_byte_text) + two_byte_text.size() - 1;
    connection_->write_apart({chunk_of(events.substr(0, half)), chunk_of(events.substr(half))});
  } else {
    connection_->write(chunk.end());
  }
}

void Reply::write_split(std::string_view event) {
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < pieces_of_a_split; ++i) {
    const std::size_t begin = event.size() * i / pieces_of_a_split;
    const std::size_t end = event.size() * (i + 1) / pieces_of_a_split;
    pieces.push_back(chunk_of(event.substr(begin, end - begin)));
  }
  connection_->write_apart(std::move(pieces));
}

void Reply::write_merged(std::string_view event, bool all) {
  merged_events_ += event;
  if (++merged_ < events_of_a_merged && !all) return;
  connection_->write(chunk_of(merged_events_));
  merged_events_.clear();
  merged_ = 0;
}

void Reply::observe(const SourceToken& token, double now) {
  metrics_->write_lag.observe(now - token.due);
  if (driver_ == nullptr) {
    // Without an engine, count here; an engine does its own counting.
    ++metrics_->engine.generation_tokens;
    if (token.number == 1 && token.choice == 0)
      metrics_->engine.prompt_tokens += plan_.prompt_tokens;
  }
  double& last = last_token_[token.choice];
  if (token.number > 1) {
    metrics_->itl.observe(now - last);
  } else if (token.choice == 0) {
    metrics_->ttft.observe(now - plan_.received);
    metrics_->queue.observe(started_ - plan_.received);
    metrics_->prefill.observe(now - started_);
  }
  last = now;
}

void Reply::finish() {
  over_ = true;
  const std::uint64_t total = plan_.choices * plan_.tokens;
  if (plan_.stream) {
    std::string end;
    const auto append = [&end](const std::string& events) {
      if (!events.empty()) end += chunk_of(events);
    };
    std::string events;
    plan_.format->usage(total, events);
    append(std::exchange(events, {}));
    if (plan_.fault != Fault::nodone) plan_.format->done(total, events);
    append(events);
    end += last_chunk;
    connection_->write(end);
  } else {
    connection_->write(whole_reply({.close = !plan_.keep_alive},
                                   plan_.format->whole(plan_.choices, plan_.tokens)));
  }
  ++(plan_.natural_end ? metrics_->finished_stop : metrics_->finished_length);
  metrics_->e2e.observe(loop_.now() - plan_.received);
  if (plan_.fault == Fault::slowclose) {
    loop_.at(loop_.now() + slow_close_seconds, shared_from_this());
  } else if (plan_.keep_alive) {
    connection_->next();
  } else {
    connection_->close();
  }
}

void Reply::on_due(double) {
  connection_->close();
}

void Reply::abandoned() {
  over_ = true;
  for (const std::uint64_t id : engine_ids_) driver_->cancel(id);
}

}  // namespace assay::simulator
