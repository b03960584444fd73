// Turns the tokens of a reply in progress into bytes.
#pragma once

#include <memory>
#include <vector>

#include "serving/server/connection.h"
#include "serving/server/reply_format.h"
#include "serving/server/server_metrics.h"
#include "serving/server/token_sink.h"

namespace assay::server {

/// How to answer one request.
struct ReplyPlan {
  std::unique_ptr<ReplyFormat> format;
  std::size_t choices = 1;
  bool stream = false;
  bool keep_alive = true;
  Finish finish = Finish::length;  ///< how a choice without tokens ends
  double received = 0;             ///< HttpRequest::received
};

class Reply : public TokenSink, public Abandonable, public std::enable_shared_from_this<Reply> {
 public:
  /// `source` is null if nothing is to be cancelled when the reader goes; otherwise it lives while
  /// the loop runs.
  Reply(Loop& loop, std::shared_ptr<Connection> connection, std::shared_ptr<ServerMetrics> metrics,
        TokenSource* source, ReplyPlan plan);

  /// Call before any tokens: writes the head of a stream.
  virtual void begin();
  /// Adds a request of the source, which is cancelled if the reader is gone.
  void add_source_id(std::uint64_t id) { source_ids_.push_back(id); }

  void on_started(double when) override;
  bool on_token(const SourceToken& token) override;
  void on_failure(int status, std::string_view message) override;
  void abandoned() override;

 protected:
  /// Writes an event of a stream.
  virtual void write_token(const TokenEvent& event);
  virtual void observe(const SourceToken& token, double now);
  /// Returns whether the end mark is written.
  virtual bool writes_end_mark() const { return true; }
  /// After the last byte.
  virtual void close_or_next();

  /// Writes the event before a choice's first token, where the format has one.
  void write_opening(const TokenEvent& event);
  void finish();
  void stop() { over_ = true; }
  bool over() const { return over_ || !connection_->open(); }
  Loop& loop() { return loop_; }
  Connection& connection() { return *connection_; }
  ServerMetrics& metrics() { return *metrics_; }
  const ReplyPlan& plan() const { return plan_; }

 private:
  void write_end();

  Loop& loop_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<ServerMetrics> metrics_;
  TokenSource* source_;
  ReplyPlan plan_;
  std::vector<std::uint64_t> source_ids_;
  std::vector<double> last_token_;         // when each choice's last token was written
  std::vector<std::uint64_t> characters_;  // of each choice, where log probabilities are wanted
  std::vector<ChoiceText> choices_;        // texts only where the reply or an event needs them
  double started_ = -1;
  std::size_t finished_ = 0;  // choices
  std::uint64_t tokens_ = 0;  // tokens of all choices
  bool over_ = false;
};

/// An HTTP chunk of its own.
std::string chunk_of(std::string_view content);

}  // namespace assay::server
