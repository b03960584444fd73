#include "serving/server/reply.h"

#include "serving/server/http_text.h"

namespace assay::server {
namespace {

/// Allocated once, not for each token.
ChunkBuffer& event_buffer() {
  static thread_local ChunkBuffer chunk;
  return chunk;
}

}  // namespace

std::string chunk_of(std::string_view content) {
  ChunkBuffer chunk;
  chunk.begin() += content;
  return std::string(chunk.end());
}

Reply::Reply(Loop& loop, std::shared_ptr<Connection> connection,
             std::shared_ptr<ServerMetrics> metrics, TokenSource* source, ReplyPlan plan)
    : loop_(loop),
      connection_(std::move(connection)),
      metrics_(std::move(metrics)),
      source_(source),
      plan_(std::move(plan)),
      last_token_(plan_.choices),
      characters_(plan_.choices),
      choices_(plan_.choices) {
  for (ChoiceText& choice : choices_) choice.finish = plan_.finish;
}

void Reply::begin() {
  if (!plan_.stream) return;
  connection_->write(stream_head(
      {.content_type = "text/event-stream; charset=utf-8", .close = !plan_.keep_alive}));
}

void Reply::on_started(double when) {
  if (started_ < 0) started_ = when;
}

bool Reply::on_token(const SourceToken& token) {
  if (over()) return false;
  ChoiceText& choice = choices_[token.choice];
  ++choice.tokens;
  ++tokens_;
  if (token.last) choice.finish = token.finish;
  if (!plan_.stream || plan_.format->needs_whole()) choice.text += token.text;
  if (plan_.stream) {
    std::uint64_t& offset = characters_[token.choice];
    write_token({token.choice, token.number, token.text, token.last, token.id, token.finish,
                 &choice, token.logprobs, offset});
    if (token.logprobs != nullptr) offset += characters_of(token.logprobs->chosen);
  } else {
    choice.ids.push_back(token.id);
    if (token.logprobs != nullptr) choice.logprobs.push_back(*token.logprobs);
  }
  observe(token, loop_.now());
  if (token.last && ++finished_ == plan_.choices && !over_) finish();
  return true;
}

void Reply::write_opening(const TokenEvent& event) {
  if (event.number != 1 || !plan_.format->has_opening()) return;
  ChunkBuffer& chunk = event_buffer();
  plan_.format->opening(event.choice, chunk.begin());
  connection_->write(chunk.end());
}

void Reply::write_token(const TokenEvent& event) {
  write_opening(event);
  ChunkBuffer& chunk = event_buffer();
  plan_.format->token(event, chunk.begin());
  connection_->write(chunk.end());
}

void Reply::observe(const SourceToken& token, double now) {
  metrics_->write_lag.observe(now - token.due);
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

void Reply::write_end() {
  std::string end;
  const auto append = [&end](const std::string& events) {
    if (!events.empty()) end += chunk_of(events);
  };
  std::string usage, done;
  plan_.format->usage(tokens_, usage);
  append(usage);
  if (writes_end_mark()) plan_.format->done(tokens_, choices_.front().finish, done);
  append(done);
  end += last_chunk;
  connection_->write(end);
}

void Reply::finish() {
  over_ = true;
  if (plan_.stream) {
    write_end();
  } else {
    connection_->write(
        whole_reply({.close = !plan_.keep_alive}, plan_.format->whole(choices_, tokens_)));
  }
  const bool stopped = choices_.front().finish != Finish::length;
  ++(stopped ? metrics_->finished_stop : metrics_->finished_length);
  metrics_->e2e.observe(loop_.now() - plan_.received);
  close_or_next();
}

void Reply::close_or_next() {
  if (plan_.keep_alive) {
    connection_->next();
  } else {
    connection_->close();
  }
}

void Reply::on_failure(int status, std::string_view message) {
  if (over()) return;
  over_ = true;
  const std::string error = error_body(status, message);
  if (plan_.stream) {
    connection_->write(chunk_of("data: " + error + "\n\n") + std::string(last_chunk));
  } else {
    connection_->write(whole_reply({.status = status, .close = true}, error));
  }
  connection_->close();
}

void Reply::abandoned() {
  over_ = true;
  for (const std::uint64_t id : source_ids_) source_->cancel(id);
}

}  // namespace assay::server
